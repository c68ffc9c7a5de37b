import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RedisServer, startRedis } from '../../scripts/cluster/redis-server.ts';
import { openWire } from '../../scripts/cluster/wire.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { systemClock } from '../../src/server/clock.ts';
import type { Hub } from '../../src/server/log/hub.ts';
import { ReplicatedLogs } from '../../src/server/log/replicated-logs.ts';
import { openRedisHub } from '../../src/server/redis/index.ts';

const word = (delta: string): Chunk => ({ type: 'text-delta', id: '0', delta });
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const logsOf = (hub: Hub) =>
  new ReplicatedLogs({
    hub,
    clock: systemClock,
    logger: silent,
    newId: randomUUID,
    lease: null,
    isOwner: async () => true,
    onLost: () => undefined,
  });
const PATIENT = { timeout: 30_000 };
const newKey = () => ({ app: 'app', user: 'user', id: randomUUID(), fence: 1 });

describe('a Redis that cannot be used is refused with a sentence', () => {
  let guarded: RedisServer;
  let evicting: RedisServer;
  let plain: RedisServer;
  beforeAll(async () => {
    [plain, guarded, evicting] = await Promise.all([
      startRedis(),
      startRedis(['requirepass secret']),
      startRedis(['maxmemory 10mb', 'maxmemory-policy allkeys-lru']),
    ]);
  });
  afterAll(async () => {
    await Promise.all([plain.close(), guarded.close(), evicting.close()]);
  });

  test('nobody is there, or the address is no address', async () => {
    await expect(openRedisHub({ url: 'redis://127.0.0.1:1' })).rejects.toThrow(
      /No Redis answers at 127.0.0.1:1/,
    );
    await expect(openRedisHub({ url: 'nonsense' })).rejects.toThrow(/the given address/);
  });

  test('the password is missing or wrong, and is not told', async () => {
    await expect(openRedisHub({ url: guarded.url })).rejects.toThrow(/refuses the login/);
    const wrong = guarded.url.replace('redis://', 'redis://:wrong@');
    const refused = openRedisHub({ url: wrong });
    await expect(refused).rejects.toThrow(/check the name and the password \(REDIS_URL\)/);
    await expect(refused).rejects.not.toThrow(/wrong/);
    await (await openRedisHub({ url: guarded.url.replace('redis://', 'redis://:secret@') })).close();
  });

  test('it evicts keys when its memory is full', async () => {
    await expect(openRedisHub({ url: evicting.url })).rejects.toThrow(/allkeys-lru\): set it to noeviction/);
  });

  test.each([
    ['5.0.9', true],
    ['6.0.9', true],
    ['6.2.0', false],
    // What a Valkey 8 says of itself.
    ['7.2.4', false],
    ['10.0', false],
  ])('its version is %s: too old %s', async (version, isTooOld) => {
    const wire = await openWire(Number(new URL(plain.url).port), (bytes) =>
      // As long as before: how long it is was said already.
      Buffer.from(
        bytes
          .toString('latin1')
          .replace(
            /redis_version:([^\r]*)/,
            (_, real: string) => `redis_version:${version.padEnd(real.length)}`,
          ),
        'latin1',
      ),
    );
    const opening = openRedisHub({ url: `redis://127.0.0.1:${wire.port}` });
    if (isTooOld) await expect(opening).rejects.toThrow(/is too old.*version 6.2 or newer, or Valkey/);
    else await (await opening).close();
    await wire.close();
  });

  test('it has no streams', async () => {
    const admin = createClient({ url: evicting.url });
    await admin.connect();
    await admin.configSet('maxmemory-policy', 'noeviction');
    await admin.sendCommand(['ACL', 'SETUSER', 'plain', 'on', '>x', '~*', '+@all', '-@stream']);
    admin.destroy();
    const url = evicting.url.replace('redis://', 'redis://plain:x@');
    await expect(openRedisHub({ url })).rejects.toThrow(/lacks permissions/);
  });
});

describe('a Redis in trouble', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());

  test('one that comes back empty gets the log again, and what was said meanwhile', async () => {
    const warnings: string[] = [];
    const hub = await openRedisHub({ url: redis.url, onWarning: (text) => warnings.push(text) });
    const key = newKey();
    const log = await logsOf(hub).open(key);
    log.chunks.append(word('a'));
    await log.released();
    await redis.kill();
    log.chunks.append(word('b'));
    expect(log.shown.last).toBe(1);
    await redis.start();
    await log.released();
    expect(log.shown.last).toBe(2);
    expect(warnings).toEqual([expect.stringContaining('Redis is unavailable'), 'Redis is reachable again.']);
    const next = await logsOf(hub).open({ ...key, fence: 2 });
    expect([next.chunks.epoch, next.shown.first, next.shown.last]).toEqual([log.chunks.epoch, 1, 2]);
    await hub.close();
  });

  test('a log of which nothing is said meanwhile is written again, too', async () => {
    const hub = await openRedisHub({ url: redis.url });
    const key = newKey();
    const log = await logsOf(hub).open(key);
    log.chunks.append(word('a'));
    await log.released();
    await redis.kill();
    await redis.start();
    const look = await openRedisHub({ url: redis.url });
    const kept = async () => {
      const { epoch, windows } = await look.take(key, 'looking');
      return [epoch, windows.length];
    };
    await expect.poll(kept).toEqual([log.chunks.epoch, 1]);
    await hub.close();
    await look.close();
  });

  test('one that answers nothing is waited for, and what was said is kept once when it goes on', async () => {
    const hub = await openRedisHub({ url: redis.url });
    const key = newKey();
    const log = await logsOf(hub).open(key);
    log.chunks.append(word('a'));
    await log.released();
    redis.freeze();
    log.chunks.append(word('b'));
    await expect(log.released()).rejects.toMatchObject({ code: 'internal', retryAfterMs: 5000 });
    expect(log.shown.last).toBe(1);
    redis.thaw();
    await log.released();
    const next = await logsOf(hub).open({ ...key, fence: 2 });
    expect([next.shown.first, next.shown.last]).toEqual([1, 2]);
    await hub.close();
  });

  test.each([
    [
      'whose memory is full',
      ['CONFIG', 'SET', 'maxmemory', '1'],
      ['CONFIG', 'SET', 'maxmemory', '0'],
      'is full',
    ],
    ['that becomes a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE'], 'is read-only'],
  ])(
    'one %s is a fault of the hub, which /health reports, until it takes writes again',
    async (_, spoil, repair, cause) => {
      const warnings: string[] = [];
      const hub = await openRedisHub({ url: redis.url, onWarning: (text) => warnings.push(text) });
      const admin = createClient({ url: redis.url });
      await admin.connect();
      expect(hub.fault?.()).toBeNull();
      await admin.sendCommand(spoil);
      await expect.poll(() => hub.fault?.(), PATIENT).toContain(cause);
      await admin.sendCommand(repair);
      await expect.poll(() => hub.fault?.(), PATIENT).toBeNull();
      expect(warnings).toEqual([expect.stringContaining(cause)]);
      admin.destroy();
      await hub.close();
    },
  );
});
