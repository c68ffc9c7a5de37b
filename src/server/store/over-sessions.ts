import { type CallRow, callOf, fromText, type ListedRow, listedOf } from './rules.ts';
import { type AllSessionsPage, type FoundCall, StoreError } from './store.ts';

/** A row of the list of the sessions of all users. */
export interface UserListedRow extends ListedRow {
  user: string;
}

/** A page of the sessions of all users. `rows` has one row more than the page when another page follows. */
export function allSessionsPage(rows: readonly UserListedRow[], count: number): AllSessionsPage {
  const listed = rows.slice(0, count);
  const last = rows.length > count ? listed.at(-1) : undefined;
  return {
    sessions: listed.map((row) => ({ user: fromText(row.user), ...listedOf(row) })),
    next: last === undefined ? null : allSessionsCursor(last.updated_at, last.n),
  };
}

/** Makes the cursor of the page after a session from the time of its last use and its number in the store. */
export function allSessionsCursor(updatedAt: number, n: number): string {
  return `${updatedAt}.${n}`;
}

/** Reads a cursor, and throws a `StoreError` when it is not valid. Without a cursor, returns the place before the first session. */
export function placeOfCursor(cursor: string | undefined): { updatedAt: number; n: number } {
  if (cursor === undefined) return { updatedAt: Number.MAX_SAFE_INTEGER, n: 0 };
  const [, updatedAt, n] = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor) ?? [];
  if (updatedAt === undefined || n === undefined)
    throw new StoreError(
      `The cursor ${JSON.stringify(cursor.slice(0, 64))} is not valid: pass the "next" of an earlier page.`,
    );
  return { updatedAt: Number(updatedAt), n: Number(n) };
}

/** A call and its session, as a query over all sessions returns them. */
export function foundCallOf(
  app: string,
  row: CallRow & { session_user: string; session_id: string },
): FoundCall {
  return {
    key: { app, user: fromText(row.session_user), id: fromText(row.session_id) },
    call: callOf(row),
  };
}
