import { cpSync } from 'node:fs';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import type { RowDatabase } from './matrix.ts';

/** A database in a file. A killed process leaves the bytes that are in the file at that moment, and no lock. */
export function sqliteDatabase(): RowDatabase {
  let folder = temporaryFolder();
  return {
    open: () => openSqliteStore(folder),
    async kill() {
      const left = temporaryFolder();
      cpSync(folder, left, { recursive: true, filter: (path) => !/\.(?:lock|holder)/.test(path) });
      folder = left;
    },
  };
}
