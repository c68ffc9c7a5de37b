import { afterEach, beforeAll, it } from 'vitest';
import { testSchema } from '../cluster/support/schema.ts';
import { deletionThatDies } from './support/inner-sessions.ts';

const schema = testSchema();

beforeAll(async () => (await schema.open()).close());
afterEach(() => schema.empty());

it.each([0, 3])(
  '[S14] the sessions of agents that are used as tools are deleted with their conversation in PostgreSQL, when a process dies before deletion %i',
  (place) => deletionThatDies({ open: () => schema.open(), kill: async () => undefined }, place),
);
