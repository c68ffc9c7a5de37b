import type { Event } from '@google/adk';
import { StoreError } from '../store/store.ts';
import { auditTable } from './audit-lines.ts';
import { callTable } from './calls.ts';
import type { Database } from './database.ts';
import { documentTable } from './documents.ts';
import { fileTable } from './files.ts';
import { messageTable } from './messages.ts';
import { requestTable } from './requests.ts';
import { sessionTable } from './sessions.ts';
import { stateTables } from './states.ts';
import { waitingTable } from './waiting.ts';

/** The tables of a database with the newest schema. */
export type Tables = ReturnType<typeof tablesOf>;

function tablesOf(db: Database) {
  return {
    sessions: sessionTable(db),
    states: stateTables(db),
    events: documentTable<Event>(db, 'events'),
    messages: messageTable(db),
    waiting: waitingTable(db),
    calls: callTable(db),
    auditLines: auditTable(db),
    requests: requestTable(db),
    files: fileTable(db),
  };
}

/** Work on the tables of an open database, until that is closed. */
export class Transactions {
  readonly #db: Database;
  readonly #tables: Tables;
  #closed = false;

  constructor(db: Database) {
    this.#db = db;
    this.#tables = tablesOf(db);
  }

  read<T>(work: (tables: Tables) => T): T {
    if (this.#closed) throw new StoreError('The store is closed.');
    return work(this.#tables);
  }

  write<T>(work: (tables: Tables) => T): T {
    return this.read((tables) => this.#db.transaction(() => work(tables)));
  }

  /**
   * A tool may act on the world right after such a write: were it lost in a power cut, the tool could act twice. So the
   * commit, and with it all before it, is on the disk before anyone hears of it.
   */
  writeToDisk<T>(work: (tables: Tables) => T): T {
    return this.read((tables) => {
      this.#db.exec('pragma synchronous = full');
      try {
        return this.#db.transaction(() => work(tables));
      } finally {
        this.#db.exec('pragma synchronous = normal');
      }
    });
  }

  /** False when it was closed before. */
  close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    // Statements that the garbage collector has not reached keep the driver's connection half open, so the log would
    // stay behind.
    this.#db.exec('pragma wal_checkpoint(truncate)');
    this.#db.close();
    return true;
  }
}
