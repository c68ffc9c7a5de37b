import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { afterAll, beforeAll, inject } from 'vitest';
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
