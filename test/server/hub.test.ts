import { hubContract } from '../support/hub-contract.ts';
import { MemoryHub, SharedMemory } from '../support/memory-hub.ts';

const shared = new SharedMemory();
hubContract({
  name: 'in memory',
  open: async () => new MemoryHub(shared),
  lose: async (key) => shared.lose(key),
});
