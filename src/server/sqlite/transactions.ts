import type { Event } from '@google/adk';
import { StoreError } from '../store/store.ts';
import { artifactTable } from './artifacts.ts';
import type { Database } from './database.ts';
import { outboxTables } from './outbox.ts';
import { auditTable, callTable, documentTable, messageTable, requestTable, waitingTable } from './records.ts';
import { fileTable, sessionTable, stateTables } from './sessions.ts';

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
    artifacts: artifactTable(db),
    outbox: outboxTables(db),
  };
}

/** Runs work on the tables of an open database. */
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
   * Runs a transaction that a power cut cannot undo: this commit, and every commit before it, is on the disk before the method returns. For writes after
   * which a tool runs: if such a write were lost, the tool could run twice.
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

  /** Closes the database; returns false when it was closed before. */
  close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    // Statements that are not garbage-collected yet keep the driver's connection open, so the WAL file would remain. Empty it now.
    this.#db.exec('pragma wal_checkpoint(truncate)');
    this.#db.close();
    return true;
  }
}
