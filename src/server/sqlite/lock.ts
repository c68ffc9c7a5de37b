import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { StoreError } from '../store/store.ts';
import { openDatabase } from './database.ts';

/**
 * Takes the lock of a database file, and returns what gives it back. It is an exclusive transaction, never ended, on a
 * file beside it: the system ends it with the process, however that dies, so no lock is ever stale. Who holds it stands
 * in a second file, only to be shown.
 */
export async function takeLock(file: string): Promise<() => void> {
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
