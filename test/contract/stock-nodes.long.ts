import { describe } from 'vitest';
import { systemClock } from '../../src/server/clock.ts';
import { MemoryHub, SharedMemory } from '../support/memory-hub.ts';
import { MemoryDatabase } from '../support/memory-nodes.ts';
import { breakTheStockLine } from './support/drops.ts';
import { onThreeNodes } from './support/three-nodes.ts';

/** Nodes of this process that share a database and a hub in memory; each group has its own. */
const inMemory = () => {
  const groups = new Map<string, { database: MemoryDatabase; memory: SharedMemory }>();
  return onThreeNodes(async (name) => {
    const group = groups.get(name) ?? {
      database: new MemoryDatabase(systemClock),
      memory: new SharedMemory(),
    };
    groups.set(name, group);
    return { store: group.database.open(), hub: new MemoryHub(group.memory) };
  });
};

describe('a line to three nodes that breaks once, anywhere; the next connection goes to another node', () =>
  breakTheStockLine(inMemory));
