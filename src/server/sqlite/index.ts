/**
 * A store in one SQLite file. `index.ts` opens the file and takes its lock: one process at a time may use it. `database.ts` opens connections and brings the
 * schema up to date. `sqlite-store.ts` makes each call of the store, except `deleteSession`, one transaction (`transactions.ts`) and checks the owner of the
 * session; `sessions.ts`, `records.ts` and `artifacts.ts` hold the statements of the tables. All state is in the file.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type Store, StoreError } from '../store/store.ts';
import { type Database, migrate, openDatabase } from './database.ts';
import { SqliteStore } from './sqlite-store.ts';

/**
 * Opens the store in a folder (or in a file whose name ends in `.db`), and creates the folder and the file if they are missing. Only one process at a time
 * may open a store; in a second process this rejects with a `StoreError`. A server closes its store when the server itself closes.
 *
 * @example
 * const duologue = createDuologue({ agent, store: await openSqliteStore('data') });
 */
export async function openSqliteStore(
  folderOrFile: string,
  options: { now?: () => number } = {},
): Promise<Store> {
  const file = resolve(folderOrFile.endsWith('.db') ? folderOrFile : join(folderOrFile, 'duologue.db'));
  let releaseLock = (): void => {};
  let db: Database | undefined;
  try {
    // Only the user of this process may read conversations.
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    releaseLock = await takeLock(file);
    db = await openDatabase(file);
    db.exec('pragma busy_timeout = 5000');
    db.exec('pragma journal_mode = wal');
    // A committed transaction survives the death of the process. Only a power cut can lose the newest transactions, and it never corrupts the file. The start
    // of a tool needs more: see `Transactions.writeToDisk`.
    db.exec('pragma synchronous = normal');
    migrate(db);
    const store = new SqliteStore(db, releaseLock, options.now ?? Date.now);
    store.removeHidden();
    store.removeBlank();
    store.releaseEvents();
    return store;
  } catch (cause) {
    db?.close();
    releaseLock();
    if (cause instanceof StoreError) throw cause;
    throw new StoreError(`The sessions in ${file} cannot be opened: ${String(cause)}`, { cause });
  }
}

/**
 * Takes the lock of a database file; the returned function releases it. The lock is an exclusive transaction on the file `<file>.lock`, which stays open until
 * the release. When the process dies, the operating system releases the lock, so no lock is ever stale. `<file>.holder` names the process, for error messages
 * alone.
 */
async function takeLock(file: string): Promise<() => void> {
  const lock = await openDatabase(`${file}.lock`);
  const holder = `${file}.holder`;
  try {
    lock.exec('pragma busy_timeout = 0');
    lock.exec('begin exclusive');
  } catch (cause) {
    lock.close();
    if (!isBusy(cause)) throw cause;
    throw new StoreError(
      `${file} is in use by another Duologue server${readHolder(holder)}: stop that one, or give this one a folder of its own (DUOLOGUE_DATA).`,
      { cause },
    );
  }
  writeFileSync(holder, `process ${process.pid} on ${hostname()} since ${new Date().toISOString()}\n`);
  return () => {
    rmSync(holder, { force: true });
    lock.exec('rollback');
    lock.close();
  };
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY';
}

function readHolder(holder: string): string {
  try {
    return ` (${readFileSync(holder, 'utf8').trim()})`;
  } catch {
    return '';
  }
}
