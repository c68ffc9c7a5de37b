/**
 * The data that several nodes share besides their store, in a Redis or Valkey server: the logs of sessions, each a stream that outlives its owner, and the
 * counters of each user. `scripts.ts` has the scripts that Redis runs atomically, `redis-hub.ts` calls them, and `redis-connection.ts` owns the connection,
 * which may break at any time. When the data in Redis is lost, clients get a `data-reset` and the counters begin again, but no message is lost.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Hub } from '../log/hub.ts';
import { StoreError } from '../store/store.ts';
import { describeFault, placeOf, RedisConnection, type RedisOptions, tooOld } from './redis-connection.ts';
import { aliveKey, RedisHub } from './redis-hub.ts';

export type { RedisOptions };

/**
 * How long the alive key of a node lasts; a living node renews it every second. Without the key, the connections of the node are not counted. The time is
 * short, because clients of a dead node reconnect at once: until the key expires, their old connections are counted too, and a user may be refused as having
 * too many.
 */
const ALIVE_MS = 3000;

/**
 * Connects to a Redis or Valkey server. Throws a `StoreError` with the reason when it cannot be used.
 *
 * @example
 * const duologue = createDuologue({ agent, store, hub: await openRedisHub({ url: 'redis://cache:6379' }), node: { address } });
 */
export async function openRedisHub(options: RedisOptions): Promise<Hub> {
  const { url, prefix = 'duologue' } = options;
  const keys = { prefix, node: `${hostname()}-${randomUUID()}` };
  const connection = await RedisConnection.open(options, [
    'SET',
    aliveKey(keys),
    '1',
    'PX',
    String(ALIVE_MS),
  ]);
  try {
    await check(connection, url);
    const hub = new RedisHub(connection, keys);
    await tryOut(hub);
    return hub;
  } catch (cause) {
    connection.close();
    if (cause instanceof StoreError) throw cause;
    throw new StoreError(describeFault(cause, url), { cause });
  }
}

/** Throws when Redis is too old, or has a setting with which the hub would fail later. */
async function check(connection: RedisConnection, url: string): Promise<void> {
  const info = String(await connection.run(['INFO']));
  // Valkey reports the version of Redis that it is compatible with.
  const [, major, minor] = /^redis_version:(\d+)\.(\d+)/m.exec(info) ?? [];
  if (Number(major) < 6 || (Number(major) === 6 && Number(minor) < 2))
    throw new StoreError(tooOld(placeOf(url)));
  const policy = /^maxmemory_policy:(.*?)\r?$/m.exec(info)?.[1];
  if (policy !== undefined && policy !== 'noeviction') {
    throw new StoreError(
      `Redis at ${placeOf(url)} evicts keys when its memory is full (maxmemory-policy ${policy}): set it to noeviction.`,
    );
  }
  if (/^redis_mode:cluster\r?$/m.test(info)) {
    throw new StoreError(
      `Redis at ${placeOf(url)} is a cluster: give the address of a single Redis or Valkey, with replicas if you like.`,
    );
  }
}

/** Writes and removes a log, so that a missing feature or right of Redis fails the start and not a conversation. */
async function tryOut(hub: Hub): Promise<void> {
  const key = { app: '', user: '', id: randomUUID(), fence: 1 };
  await hub.take(key, 'try');
  const oldest = { fence: 1, last: 0 };
  await hub.append([{ key, epoch: 'try', last: 1, text: '[null]', isWhole: false, oldest }]);
  await hub.remove(key);
}
