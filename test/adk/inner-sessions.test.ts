import { describe, it } from 'vitest';
import { createMemoryStore, type Store } from '../../src/server/index.ts';
import { deletionThatDies } from './support/inner-sessions.ts';
import type { RowDatabase } from './support/matrix.ts';
import { sqliteDatabase } from './support/sqlite-database.ts';

/** A store in memory that outlives its server. */
function memoryDatabase(): RowDatabase {
  const store: Store = createMemoryStore();
  return { open: async () => ({ ...store }), kill: async () => undefined };
}

describe.each([
  ['in memory', memoryDatabase],
  ['in SQLite', sqliteDatabase],
])('the sessions of agents that are used as tools, %s', (_store, database) => {
  it.each([0, 1, 2, 3])(
    '[S14] are deleted with their conversation, also by a later process when one dies before deletion %i',
    (place) => deletionThatDies(database(), place),
  );
});
