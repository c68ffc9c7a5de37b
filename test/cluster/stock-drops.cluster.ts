import { beforeAll, describe } from 'vitest';
import { breakTheStockLine } from '../contract/support/drops.ts';
import { testSchema } from './support/schema.ts';
import { onThreeNodes } from './support/three-nodes.ts';

const schema = testSchema();

beforeAll(() => schema.open().then((store) => store.close()));

describe('a line to three nodes that breaks once, anywhere; the next connection goes to another node', () =>
  breakTheStockLine(() => onThreeNodes(schema)));
