import { describe } from 'vitest';
import { apiNodesSuite } from '../server/support/api-nodes.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

describe('the server API on two nodes that share PostgreSQL', () => {
  apiNodesSuite(() => ({ open: () => schema.open() }));
});
