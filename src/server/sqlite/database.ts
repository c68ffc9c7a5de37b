import type Libsql from 'libsql';
import { StoreError } from '../store/store.ts';

/** A value of a column. */
export type Value = string | number | null | Uint8Array;

/** A prepared statement whose rows have the columns of `Row`. */
export interface Statement<Row> {
  /** Returns the number of changed rows. */
  run(...values: Value[]): number;
  first(...values: Value[]): Row | undefined;
  all(...values: Value[]): Row[];
}

/** A connection to one database file; its calls are synchronous. */
export interface Database {
  prepare<Row = never>(sql: string): Statement<Row>;
  exec(sql: string): void;
  /** Runs the work as one transaction; an error undoes all of it. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** Opens, or creates, a database file. */
export async function openDatabase(file: string): Promise<Database> {
  const Driver = await loadDriver();
  const db = new Driver(file);

  return {
    prepare<Row>(sql: string): Statement<Row> {
      const statement = db.prepare(sql);
      // The values are passed as one array: the driver takes a single null or object for named parameters, and crashes.
      return {
        run: (...values) => statement.run(values).changes,
        first: (...values) => statement.get(values) as Row | undefined,
        all: (...values) => statement.all(values) as Row[],
      };
    },
    exec(sql) {
      db.exec(sql);
    },
    transaction(work) {
      db.exec('BEGIN IMMEDIATE');
      try {
        const result = work();
        db.exec('COMMIT');
        return result;
      } catch (error) {
        // On some errors, a full disk among them, SQLite has already rolled back.
        if (db.inTransaction) db.exec('ROLLBACK');
        throw error;
      }
    },
    close() {
      db.close();
    },
  };
}

async function loadDriver(): Promise<typeof Libsql> {
  try {
    return (await import('libsql')).default;
  } catch (cause) {
    throw new StoreError('Keeping sessions in a folder needs the package libsql: run `npm install libsql`.', {
      cause,
    });
  }
}

/** A step from one version of the schema to the next. */
export type Migration = (db: Database) => void;

/** The steps from an empty file; step `n` leads to version `n + 1`. Released steps are never changed. */
export const migrations: readonly Migration[] = [
  function firstSchema(db) {
    // Events and messages have no row ids: their rows lie in the order of the primary key, so those of a session lie together, in the order in which they
    // are read. States have none either, because they are found by their key alone. The other tables have row ids.
    db.exec(`
      create table app_states (app text primary key, state text not null) without rowid;
      create table user_states (
        app text not null, user text not null, state text not null, primary key (app, user)
      ) without rowid;
      create table sessions (
        n integer primary key,
        app text not null, user text not null, id text not null,
        title text, state text not null, created_at integer not null, updated_at integer not null,
        unique (app, user, id)
      );
      create table events (
        session integer not null, seq integer not null, id text not null, data text not null,
        primary key (session, seq)
      ) without rowid;
      create unique index event_ids on events (session, id);
      create table messages (
        session integer not null, seq integer not null, id text not null, data text not null,
        primary key (session, seq)
      ) without rowid;
      create unique index message_ids on messages (session, id);
      create table calls (
        n integer primary key,
        session integer not null, id text not null, approval_id text,
        tool_name text not null, args text not null, args_hash text not null, runs_on text not null,
        status text not null, reason text, message_id text not null,
        agent text not null, invocation_id text not null, branch text,
        issued_at integer not null, expires_at integer,
        unique (session, id), unique (session, approval_id)
      );
      create table audit_lines (
        n integer primary key,
        app text not null, user text not null, session_id text not null,
        at integer not null, kind text not null, approval_id text, tool_call_id text,
        tool_name text, args_hash text, args text, reason text
      );
      create index audit_of_session on audit_lines (app, user, session_id);
      create table files (
        n integer primary key,
        session integer not null, id text not null, media_type text not null, bytes blob not null,
        unique (session, id)
      );
    `);
  },
  function acceptedRequests(db) {
    db.exec(`
      create table requests (
        session integer not null, seq integer not null,
        request_id text not null, message_id text, parts integer not null,
        primary key (session, seq)
      ) without rowid;
      create unique index request_ids on requests (session, request_id);
    `);
  },
  function fences(db) {
    // One counter for all sessions, so that a session with the id of a removed one gets a new fence too.
    db.exec(`
      create table fences (last integer not null);
      insert into fences (last) values (0);
      alter table sessions add column fence integer not null default 0;
    `);
  },
  function waitingMessages(db) {
    db.exec(`
      create table waiting (
        session integer not null, seq integer not null, id text not null, data text not null,
        primary key (session, seq)
      ) without rowid;
      create unique index waiting_ids on waiting (session, id);
    `);
  },
  function sessionsByUse(db) {
    db.exec('create index sessions_by_use on sessions (app, user, updated_at desc, id)');
  },
  function serverApi(db) {
    // Indexes for lists of the sessions of all users, and for decisions and outputs that name a call without its session.
    db.exec(`
      create index all_sessions_by_use on sessions (app, updated_at desc, n);
      create index calls_by_id on calls (id);
      create index calls_by_approval on calls (approval_id) where approval_id is not null;
      alter table audit_lines add column decided_by text;
    `);
  },
  function questions(db) {
    db.exec('alter table calls add column question text; alter table calls add column answer text;');
  },
  function artifacts(db) {
    // Artifacts of a user belong to the session 0, which no session has.
    db.exec(`
      create table artifacts (
        n integer primary key,
        session integer not null, owner text not null, name text not null, version integer not null,
        part text not null, bytes blob, media_type text, metadata text,
        unique (session, owner, name, version)
      );
    `);
  },
  function callsOfAgents(db) {
    db.exec('alter table calls add column agents text');
  },
  function outbox(db) {
    db.exec(`
      create table outbox_queues (
        n integer primary key,
        app text not null, subscription text not null, user text not null, session_id text not null,
        due integer not null, attempts integer not null default 0, claim text,
        unique (app, subscription, user, session_id)
      );
      create index outbox_queues_by_due on outbox_queues (app, subscription, due);
      create table outbox (
        n integer primary key,
        queue integer not null, id text not null, at integer not null, data text not null,
        unique (queue, id)
      );
      create index outbox_by_queue on outbox (queue, n);
    `);
  },
];

/** Brings the file to the newest version, each step in a transaction of its own; refuses a file of a newer version. */
export function migrate(db: Database, steps: readonly Migration[] = migrations): void {
  const version = db.prepare<{ user_version: number }>('pragma user_version').first()?.user_version ?? 0;
  if (version > steps.length) {
    throw new StoreError(
      `The data folder was written by a newer Duologue (schema ${version}, this one knows ${steps.length}): ` +
        'update Duologue, or choose another folder.',
    );
  }
  steps.slice(version).forEach((step, index) => {
    db.transaction(() => {
      step(db);
      db.exec(`pragma user_version = ${version + index + 1}`);
    });
  });
}
