import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openRedisHub } from '../../src/server/redis/index.ts';
import { hubContract } from '../support/hub-contract.ts';

const url = inject('redis');
const prefix = `test-${randomUUID()}`;
const client = createClient({ url });
beforeAll(async () => {
  await client.connect();
});
afterAll(() => client.destroy());

hubContract({
  name: 'in Redis',
  open: () => openRedisHub({ url, prefix }),
  lose: async () => {
    const keys = await client.keys(`${prefix}:log:*`);
    if (keys.length > 0) await client.del(keys);
  },
});

test('[R4] a log in Redis ends by itself, five minutes after something was added to it', async () => {
  const hub = await openRedisHub({ url, prefix: `${prefix}-ends` });
  const key = { app: 'app', user: 'user', id: randomUUID(), fence: 1 };
  await hub.take(key, 'name');
  const [log = ''] = await client.keys(`${prefix}-ends:log:*`);
  const minute = 60_000;
  await client.pExpire(log, minute);
  const added = { key, epoch: 'name', last: 1, text: '[null]', isWhole: false, oldest: null };
  expect(await hub.append([added])).toEqual(['kept']);
  const left = await client.pTTL(log);
  expect(left).toBeGreaterThan(minute);
  expect(left).toBeLessThanOrEqual(5 * minute);
  await hub.close();
});

test('[A9] the connections of a node that dies count for three more seconds at most', async () => {
  const hub = await openRedisHub({ url, prefix: `${prefix}-counts` });
  const [alive = '', ...others] = await client.keys(`${prefix}-counts:node:*`);
  expect(others).toEqual([]);
  const left = await client.pTTL(alive);
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(3000);
  await hub.close();
});

test('[A9] the connections of a process that another one forgets count no more, and its later ones do', async () => {
  const [one, other] = await Promise.all(
    [1, 2].map(() => openRedisHub({ url, prefix: `${prefix}-forgotten` })),
  );
  if (!one || !other) throw new Error('Two hubs were opened.');
  expect(await one.connections('ann', 5)).toBe(5);
  expect(await other.connections('ann', 1)).toBe(6);
  await other.forget?.(one.process ?? '');
  expect(await other.connections('ann', 1)).toBe(1);
  // It lives nevertheless: with its next sign of life it counts again.
  await expect.poll(() => client.keys(`${prefix}-forgotten:node:*`)).toHaveLength(2);
  expect(await one.connections('ann', 6)).toBe(7);
  await Promise.all([one.close(), other.close()]);
});
