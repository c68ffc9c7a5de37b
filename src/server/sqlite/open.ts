import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Store, StoreError } from '../store/store.ts';
import { type Database, openDatabase } from './database.ts';
import { takeLock } from './lock.ts';
import { migrate } from './schema.ts';
import { SqliteStore } from './sqlite-store.ts';

/**
 * Opens the store in a folder (or in a file whose name ends in `.db`), creating what is missing. One process at a time
 * may hold it; a second one gets a `StoreError` that says so.
 */
export async function openSqliteStore(
  folderOrFile: string,
  options: { now?: () => number } = {},
): Promise<Store> {
  const file = resolve(folderOrFile.endsWith('.db') ? folderOrFile : join(folderOrFile, 'duologue.db'));
  let releaseLock = (): void => {};
  let db: Database | undefined;
  try {
    // What people said is nobody else's to read.
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    releaseLock = await takeLock(file);
    db = await openDatabase(file);
    db.exec('pragma busy_timeout = 5000');
    db.exec('pragma journal_mode = wal');
    // What is committed has left the process and survives its death; only a power cut can take the last transactions,
    // never tear one. The calls of tools need more: see `SqliteStore.#writeToDisk`.
    db.exec('pragma synchronous = normal');
    migrate(db);
    const store = new SqliteStore(db, releaseLock, options.now ?? Date.now);
    store.removeHidden();
    store.removeUnsaid();
    return store;
  } catch (cause) {
    db?.close();
    releaseLock();
    if (cause instanceof StoreError) throw cause;
    throw new StoreError(`The sessions in ${file} cannot be opened: ${String(cause)}`, { cause });
  }
}
