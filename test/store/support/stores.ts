import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { createMemoryStore } from '../../../src/server/store/memory/memory-store.ts';
import type { Store } from '../../../src/server/store/store.ts';

/** Every kind of store, and how to open a fresh one. */
export const kinds: [name: string, open: (now: () => number) => Promise<Store>][] = [
  ['memory', async (now) => createMemoryStore({ now })],
  [
    'sqlite',
    async (now) => {
      const folder = createFolder();
      const store = await openSqliteStore(folder, { now });
      const close = store.close.bind(store);
      store.close = async () => {
        await close();
        rmSync(folder, { recursive: true, force: true });
      };
      return store;
    },
  ],
];

/** A folder of its own. */
export function createFolder(): string {
  return mkdtempSync(join(tmpdir(), 'duologue-store-'));
}
