import { describe } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { MemoryDatabase } from '../support/memory-nodes.ts';
import { apiNodesSuite } from './support/api-nodes.ts';

describe('the server API on two nodes', () => {
  apiNodesSuite(() => {
    const clock = new ManualClock();
    const database = new MemoryDatabase(clock);
    return { clock, open: async () => database.open() };
  });
});
