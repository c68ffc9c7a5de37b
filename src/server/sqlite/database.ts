import type Libsql from 'libsql';
import { StoreError } from '../store/store.ts';

/** What a column may be given. */
export type Value = string | number | null | Uint8Array;

/** A prepared statement whose rows have the columns of `Row`. */
export interface Statement<Row> {
  /** How many rows it changed. */
  run(...values: Value[]): number;
  first(...values: Value[]): Row | undefined;
  all(...values: Value[]): Row[];
}

/** One connection to one database file; everything on it happens at once. */
export interface Database {
  prepare<Row = never>(sql: string): Statement<Row>;
  exec(sql: string): void;
  /** Runs the work as one transaction; what it throws undoes all of it. */
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
      // The values go as one array: the driver takes a single null or object for named parameters, and dies of it.
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
