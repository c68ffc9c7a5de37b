import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Chunk } from '../../src/protocol/index.ts';
import { StaleFence } from '../../src/server/index.ts';
import { ReplicatedLogs } from '../../src/server/log/replicated-logs.ts';
import { ManualClock } from '../support/clock.ts';
import { hubContract } from '../support/hub-contract.ts';
import { MemoryHub, SharedMemory } from '../support/memory-hub.ts';

const shared = new SharedMemory();
hubContract({
  name: 'in memory',
  open: async () => new MemoryHub(shared),
  lose: async (key) => shared.lose(key),
});

test('[S3a] an answer of 60 words, 20 ms apart, is kept in 21 calls: its first word and its end at once', async () => {
  const hub = new MemoryHub(new SharedMemory());
  const clock = new ManualClock();
  const quiet = () => undefined;
  const logs = new ReplicatedLogs({
    hub,
    clock,
    logger: { info: quiet, warn: quiet, error: quiet },
    newId: randomUUID,
    lease: null,
    isOwner: async () => true,
    onLost: quiet,
  });
  const log = await logs.open({ app: 'app', user: 'user', id: 'chat', fence: 1 });
  const pass = async (ms: number) => {
    for (let step = 0; step < ms; step += 5) {
      clock.advance(5);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const word = (delta: string): Chunk => ({ type: 'text-delta', id: '0', delta });
  log.chunks.append({ type: 'text-start', id: '0' });
  log.chunks.append(word('0 '));
  await pass(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect([hub.calls, log.shown.last]).toEqual([1, 2]);
  for (let index = 1; index < 60; index++) {
    await pass(20);
    log.chunks.append(word(`${index} `));
    // No word waits for longer than the window.
    expect(log.chunks.last - log.shown.last).toBeLessThanOrEqual(3);
  }
  log.chunks.append({ type: 'text-end', id: '0' });
  await new Promise((resolve) => setImmediate(resolve));
  expect([log.shown.last, hub.calls]).toEqual([62, 21]);
  await logs.close();
});

test('a log of a later owner than the store knows begins anew for the owner, and stays refused to others', async () => {
  const memory = new SharedMemory();
  const clock = new ManualClock();
  const quiet = () => undefined;
  const key = { app: 'app', user: 'user', id: 'chat' };
  const open = (fence: number, owner: number) =>
    new ReplicatedLogs({
      hub: new MemoryHub(memory),
      clock,
      logger: { info: quiet, warn: quiet, error: quiet },
      newId: randomUUID,
      lease: null,
      isOwner: async (one) => one.fence === owner,
      onLost: quiet,
    }).open({ ...key, fence });
  const before = await open(70, 70);
  before.chunks.append({ type: 'text-start', id: '0' });
  // The database was restored: its fences went back.
  await expect(open(9, 10)).rejects.toThrow(StaleFence);
  const after = await open(10, 10);
  expect([after.chunks.last, after.chunks.epoch === before.chunks.epoch]).toEqual([0, false]);
});
