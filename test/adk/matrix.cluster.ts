import { afterEach, beforeAll, describe, it } from 'vitest';
import { KilledNodes } from '../cluster/support/killed-nodes.ts';
import { testSchema } from '../cluster/support/schema.ts';
import { Place } from './support/matrix.ts';
import { ROWS } from './support/rows/index.ts';
import { MODES } from './support/talk.ts';

const schema = testSchema();

beforeAll(async () => (await schema.open()).close());
afterEach(() => schema.empty());

describe.each(MODES)('[T27a] [T36d] over %s, on nodes that share PostgreSQL', (mode) => {
  for (const [index, row] of ROWS.entries()) {
    it(`${index + 1}: ${row.feature}`, async () => {
      const nodes = new KilledNodes(schema);
      try {
        await row.run(new Place(mode, nodes));
      } finally {
        await nodes.end();
      }
    });
  }
});
