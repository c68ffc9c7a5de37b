import { fromJson } from '../store/json.ts';
import { fitting } from '../store/rules.ts';
import { toText } from '../store/text.ts';
import type { Database } from './database.ts';

/** A table of JSON texts that belong to sessions, each under an id, in the order in which they came. */
export function documentTable<T>(db: Database, table: 'events' | 'messages' | 'waiting') {
  const put = db.prepare(
    `insert into ${table} (session, seq, id, data)
     values (?, (select coalesce(max(seq), 0) + 1 from ${table} where session = ?), ?, ?)
     on conflict (session, id) do update set data = excluded.data`,
  );
  const all = db.prepare<{ data: string }>(`select data from ${table} where session = ? order by seq`);
  const one = db.prepare<{ data: string }>(`select data from ${table} where session = ? and id = ?`);
  const place = db.prepare<{ seq: number }>(`select seq from ${table} where session = ? and id = ?`);
  const sizes = db.prepare<{ size: number }>(
    `select octet_length(data) as size from ${table} where session = ? and seq < ? order by seq desc limit ?`,
  );
  const before = db.prepare<{ data: string }>(
    `select data from ${table} where session = ? and seq < ? order by seq desc limit ?`,
  );
  const sizesFrom = db.prepare<{ size: number }>(
    `select octet_length(data) as size from ${table} where session = ? order by seq limit ? offset ?`,
  );
  const from = db.prepare<{ data: string }>(
    `select data from ${table} where session = ? order by seq limit ? offset ?`,
  );
  const countOf = db.prepare<{ count: number }>(`select count(*) as count from ${table} where session = ?`);

  return {
    /** Adds a text at the end, or replaces the one with its id where it stands. */
    put(session: number, id: string, json: string): void {
      put.run(session, session, toText(id), json);
    },
    all(session: number): T[] {
      return all.all(session).map((row) => fromJson<T>(row.data));
    },
    find(session: number, id: string): T | null {
      const row = one.first(session, toText(id));
      return row === undefined ? null : fromJson<T>(row.data);
    },
    count(session: number): number {
      return countOf.first(session)?.count ?? 0;
    },
    /** The documents from a place on, within the limits. */
    from(session: number, start: number, count: number, bytes: number): T[] {
      const found = sizesFrom.all(session, count, start).map(({ size }) => size);
      const fit = fitting(found, count, bytes);
      return from.all(session, fit, start).map((row) => fromJson<T>(row.data));
    },
    /** The last documents within the limits, or the last before one that is named; null when that is not there. */
    last(
      session: number,
      { before: id, count, bytes }: { before?: string | undefined; count: number; bytes: number },
    ): { documents: T[]; hasOlder: boolean } | null {
      const cursor = id === undefined ? Number.MAX_SAFE_INTEGER : place.first(session, toText(id))?.seq;
      if (cursor === undefined) return null;
      const found = sizes.all(session, cursor, count + 1).map(({ size }) => size);
      const fit = fitting(found, count, bytes);
      const documents = before.all(session, cursor, fit).map((row) => fromJson<T>(row.data));
      return { documents: documents.reverse(), hasOlder: found.length > fit };
    },
  };
}
