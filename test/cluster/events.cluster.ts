import { describe } from 'vitest';
import { eventNodesSuite } from '../server/support/event-nodes.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

describe('a subscription of two nodes that share PostgreSQL', () => {
  eventNodesSuite((now) => schema.open(now));
});
