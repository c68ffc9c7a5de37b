import { allSessionsPage, placeOfCursor, type UserListedRow } from '../store/over-sessions.ts';
import {
  applyDelta,
  checkOwner,
  fromText,
  hasKeys,
  joinState,
  type ListedRow,
  listedOf,
  orNull,
  type ScopedState,
  type SessionRow,
  type StateRecord,
  splitState,
  stateFromJson,
  toJson,
  toText,
} from '../store/rules.ts';
import type {
  AllSessionsPage,
  AllSessionsRequest,
  ListedSession,
  ListRequest,
  OwnedKey,
  SessionKey,
} from '../store/store.ts';
import type { Database } from './database.ts';

/** The tables whose rows are removed with their session. `key` is the column that identifies a row, `piece` how many rows one transaction removes. */
const CONTENTS = [
  { table: 'events', key: 'seq', piece: 16 },
  { table: 'messages', key: 'seq', piece: 16 },
  { table: 'calls', key: 'n', piece: 16 },
  { table: 'files', key: 'n', piece: 2 },
  { table: 'artifacts', key: 'n', piece: 2 },
  { table: 'requests', key: 'seq', piece: 1000 },
  { table: 'waiting', key: 'seq', piece: 16 },
];

/** A session that is hidden from readers, and whose rows are being removed. Its audit lines have numbers up to `lastLine`. */
export interface RemovedSession extends SessionKey {
  n: number;
  lastLine: number;
}

type OwnedRow = Pick<SessionRow, 'n' | 'fence'>;

/** The table of the sessions, and the counter of their fences. */
export function sessionTable(db: Database) {
  const add = db.prepare(
    'insert into sessions (app, user, id, state, created_at, updated_at) values (?, ?, ?, ?, ?, ?) on conflict do nothing',
  );
  const find = db.prepare<SessionRow>('select * from sessions where app = ? and user = ? and id = ?');
  const fenceOf = db.prepare<OwnedRow>('select n, fence from sessions where app = ? and user = ? and id = ?');
  const listed = `n, fence, id, title, '' as state, created_at, updated_at,
       exists (
         select 1 from calls where calls.session = sessions.n and status = 'requested'
         and (expires_at is null or expires_at > ?)
       ) as is_waiting,
       (
         select json_extract(data, '$.metadata.failed') is true or json_extract(data, '$.metadata.cutOff') is true
         from messages where messages.session = sessions.n order by seq desc limit 1
       ) as has_failed`;
  const isListed = 'title is not null or exists (select 1 from messages where messages.session = sessions.n)';
  const ofUser = db.prepare<ListedRow>(
    `select ${listed} from sessions where app = ? and user = ?
       and updated_at <= ? and (updated_at < ? or id > ?)
       and (? < 0 or ${isListed})
     order by updated_at desc, id limit ?`,
  );
  const ofAll = db.prepare<UserListedRow>(
    `select user, ${listed} from sessions where app = ?
       and updated_at <= ? and (updated_at < ? or n > ?) and (${isListed})
     order by updated_at desc, n limit ?`,
  );
  // `octet_length` reads only the length, not the content.
  const bytesOf = db.prepare<{ size: number }>(
    `select coalesce((select sum(octet_length(data)) from events where events.session = sessions.n), 0)
       + coalesce((select sum(octet_length(data)) from messages where messages.session = sessions.n), 0)
       + coalesce((select sum(octet_length(bytes)) from files where files.session = sessions.n), 0)
       + coalesce((
           select sum(octet_length(part) + coalesce(octet_length(bytes), 0) + coalesce(octet_length(metadata), 0))
           from artifacts where artifacts.session = sessions.n
         ), 0) as size
     from sessions where app = ? and user = ? and id = ?`,
  );
  const nextFence = db.prepare<{ last: number }>('update fences set last = last + 1 returning last');
  const setFence = db.prepare('update sessions set fence = ? where app = ? and user = ? and id = ?');
  const rename = db.prepare('update sessions set title = ? where app = ? and user = ? and id = ?');
  const touch = db.prepare<{ n: number }>(
    'update sessions set updated_at = ? where app = ? and user = ? and id = ? and fence = ? returning n',
  );
  const removals = [
    ...CONTENTS.map(({ table }) => db.prepare(`delete from ${table} where session = ?`)),
    db.prepare('delete from sessions where n = ?'),
  ];
  const pieces = CONTENTS.map(({ table, key, piece }) => ({
    piece,
    remove: db.prepare(
      `delete from ${table} where session = ? and ${key} in
         (select ${key} from ${table} where session = ? limit ${piece})`,
    ),
  }));
  // The row stays, so that no new session gets its number. Its column `state` stores the key of the session, so that the removal can continue after a crash.
  const hide = db.prepare(
    "update sessions set app = '', user = '', id = n, title = null, fence = -1, state = ? where n = ?",
  );
  const hidden = db.prepare<{ state: string }>(
    "select state from sessions where app = '' and user = '' and fence = -1",
  );

  const blank = db.prepare<{ n: number }>(
    `select n from sessions where title is null and updated_at < ?
       and not exists (select 1 from messages where session = n)
       and not exists (select 1 from waiting where session = n)
       and not exists (select 1 from events where session = n and id <> 'client_identifier')`,
  );

  return {
    /**
     * The numbers of the sessions that were not used since this time, and that have no title, no messages, no queued messages, and no events other than the one
     * that stores the id of the active connection.
     */
    blank(since: number): number[] {
      return blank.all(since).map(({ n }) => n);
    },
    /** Adds a session. False when it exists already. */
    add(key: SessionKey, state: string, at: number): boolean {
      return add.run(...keyText(key), state, at, at) > 0;
    },
    find(key: SessionKey): SessionRow | undefined {
      return find.first(...keyText(key));
    },
    /** The sessions of a user, last used first: all, or a page of those that have a title or a message. */
    ofUser(app: string, user: string, now: number, page?: ListRequest): ListedSession[] {
      const at = page?.after?.updatedAt ?? Number.MAX_SAFE_INTEGER;
      const id = toText(page?.after?.id ?? '');
      const count = page?.count ?? -1;
      return ofUser.all(now, toText(app), toText(user), at, at, id, count, count).map(listedOf);
    },
    /** A page of the sessions of all users that have a title or a message, last used first. */
    ofAll(app: string, now: number, { cursor, count }: AllSessionsRequest): AllSessionsPage {
      const { updatedAt: at, n } = placeOfCursor(cursor);
      return allSessionsPage(ofAll.all(now, toText(app), at, at, n, count + 1), count);
    },
    bytesOf(key: SessionKey): number {
      return bytesOf.first(...keyText(key))?.size ?? 0;
    },
    /** Gives the session a new fence, and returns it; null when the session does not exist. */
    fence(key: SessionKey): number | null {
      const fence = nextFence.first()?.last ?? 0;
      return setFence.run(fence, ...keyText(key)) > 0 ? fence : null;
    },
    /** The number of the session; undefined when the session does not exist. Throws `StaleFence` when it has another fence than the key. */
    findOwned(key: OwnedKey): number | undefined {
      const row = fenceOf.first(...keyText(key));
      if (row !== undefined) checkOwner(row, key);
      return row?.n;
    },
    /** Sets the title, or removes it when `title` is null. False when the session does not exist. */
    rename(key: SessionKey, title: string | null): boolean {
      return rename.run(orNull(title, toText), ...keyText(key)) > 0;
    },
    /** Like `findOwned`, and marks the session as used now. */
    touch(key: OwnedKey, at: number): number | undefined {
      return touch.first(at, ...keyText(key), key.fence)?.n ?? this.findOwned(key);
    },
    /** Hides the session from every reader. The caller removes its rows afterwards (`removePiece`). */
    hide({ app, user, id }: SessionKey, n: number, lastLine: number): RemovedSession {
      const removed = { app, user, id, n, lastLine };
      hide.run(toText(JSON.stringify(removed)), n);
      return removed;
    },
    /** The sessions whose removal was not complete when an earlier process ended. */
    hidden(): RemovedSession[] {
      return hidden.all().map(({ state }) => JSON.parse(fromText(state)) as RemovedSession);
    },
    /** Removes one batch of the session's rows from each table; false when no more rows are left. */
    removePiece(session: number): boolean {
      let isMore = false;
      for (const { piece, remove } of pieces) if (remove.run(session, session) === piece) isMore = true;
      return isMore;
    },
    /** Removes the session and everything that belongs to it alone. */
    remove(session: number): void {
      for (const removal of removals) removal.run(session);
    },
  };
}

/** The key of a session as the values of its three columns. */
export function keyText(key: SessionKey): [app: string, user: string, id: string] {
  return [toText(key.app), toText(key.user), toText(key.id)];
}

/** The tables of the state that all sessions of an app share, of the state that all sessions of a user share, and of the state of each session. */
export function stateTables(db: Database) {
  const ofApp = db.prepare<{ state: string }>('select state from app_states where app = ?');
  const setOfApp = db.prepare('insert or replace into app_states (app, state) values (?, ?)');
  const ofUser = db.prepare<{ state: string }>('select state from user_states where app = ? and user = ?');
  const setOfUser = db.prepare('insert or replace into user_states (app, user, state) values (?, ?, ?)');
  const setOfSession = db.prepare('update sessions set state = ? where n = ?');

  const appState = (app: string): StateRecord => stateFromJson(ofApp.first(app)?.state ?? '{}');
  const userState = (app: string, user: string): StateRecord =>
    stateFromJson(ofUser.first(app, user)?.state ?? '{}');
  const changeShared = (key: SessionKey, delta: ScopedState): void => {
    const app = toText(key.app);
    const user = toText(key.user);
    if (hasKeys(delta.app)) {
      setOfApp.run(app, toJson(applyDelta(appState(app), delta.app), 'The app state'));
    }
    if (hasKeys(delta.user)) {
      setOfUser.run(app, user, toJson(applyDelta(userState(app, user), delta.user), 'The user state'));
    }
  };

  return {
    /** The state that a session sees; `own` is its own state as JSON. */
    seenBy(key: SessionKey, own: string): StateRecord {
      const app = toText(key.app);
      return joinState({
        app: appState(app),
        user: userState(app, toText(key.user)),
        session: stateFromJson(own),
      });
    },
    changeShared,
    /** Writes a change to the state of the app, the user and the session. */
    change(key: SessionKey, session: SessionRow, change: Record<string, unknown>): void {
      const delta = splitState(change);
      changeShared(key, delta);
      if (!hasKeys(delta.session)) return;
      const next = applyDelta(stateFromJson(session.state), delta.session);
      setOfSession.run(toJson(next, 'The session state'), session.n);
    },
  };
}

/** A file that belongs to a session. */
export interface StoredFile {
  mediaType: string;
  bytes: Uint8Array;
}

/** The table of the files that belong to sessions. */
export function fileTable(db: Database) {
  const put = db.prepare('insert or replace into files (session, id, media_type, bytes) values (?, ?, ?, ?)');
  const find = db.prepare<{ media_type: string; bytes: Uint8Array }>(
    'select media_type, bytes from files where session = ? and id = ?',
  );

  return {
    put(session: number, id: string, { mediaType, bytes }: StoredFile): void {
      put.run(session, toText(id), toText(mediaType), bytes);
    },
    find(session: number, id: string): StoredFile | null {
      const row = find.first(session, toText(id));
      return row === undefined
        ? null
        : { mediaType: fromText(row.media_type), bytes: new Uint8Array(row.bytes) };
    },
  };
}
