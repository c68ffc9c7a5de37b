import { afterEach, beforeAll, describe, it } from 'vitest';
import { testSchema } from '../cluster/support/schema.ts';
import { Place, type RowDatabase } from './support/matrix.ts';
import { ROWS } from './support/rows/index.ts';
import { MODES } from './support/talk.ts';

const schema = testSchema();

/** One database for all processes: the next one takes the session over from a process that is silent, and may still live. */
const database: RowDatabase = { open: () => schema.open(), kill: async () => undefined };

beforeAll(async () => (await schema.open()).close());
afterEach(() => schema.empty());

describe.each(MODES)('over %s, in PostgreSQL', (mode) => {
  for (const [index, row] of ROWS.entries()) {
    it(`${index + 1}: ${row.feature}`, () => row.run(new Place(mode, database)));
  }
});
