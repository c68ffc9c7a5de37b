/**
 * What several nodes share beside their store, in a Redis or Valkey: the logs of sessions, each a stream that outlives its owner, and the counts of what each user asks for.
 * `scripts.ts` is what Redis does in one piece, `redis-hub.ts` calls it, and `redis-connection.ts` is the way there, which may be cut at any time. No state is kept only here:
 * a Redis that is lost costs those who were reading a new beginning, and no message.
 */
import { randomUUID } from 'node:crypto';
import type { Hub } from '../log/hub.ts';
import { StoreError } from '../store/store.ts';
import { describeFault, placeOf, RedisConnection, type RedisOptions, tooOld } from './redis-connection.ts';
import { aliveKey, RedisHub } from './redis-hub.ts';

export type { RedisOptions };

/**
 * A node that says nothing for so long has no connections any more; it says something every second. Short, since the clients of a node that
 * died come back at once, and count twice until then: above the limit of their user they are refused.
 */
const ALIVE_MS = 3000;

/** Connects to a Redis or Valkey. One that cannot be used throws a `StoreError` that says why. */
export async function openRedisHub(options: RedisOptions): Promise<Hub> {
  const { url, prefix = 'duologue' } = options;
  const keys = { prefix, node: randomUUID() };
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

/** Says what would go wrong only later. */
async function check(connection: RedisConnection, url: string): Promise<void> {
  const info = String(await connection.run(['INFO']));
  // Valkey, too, names the version of Redis that it is like.
  const [, major, minor] = /^redis_version:(\d+)\.(\d+)/m.exec(info) ?? [];
  if (Number(major) < 6 || (Number(major) === 6 && Number(minor) < 2))
    throw new StoreError(tooOld(placeOf(url)));
  const policy = /^maxmemory_policy:(.*?)\r?$/m.exec(info)?.[1];
  if (policy !== undefined && policy !== 'noeviction') {
    throw new StoreError(
      `Redis at ${placeOf(url)} throws keys away when its memory is full (maxmemory-policy ${policy}): set it to noeviction.`,
    );
  }
  if (/^redis_mode:cluster\r?$/m.test(info)) {
    throw new StoreError(
      `Redis at ${placeOf(url)} is a cluster: give the address of a single Redis or Valkey, with replicas if you like.`,
    );
  }
}

/** Does everything once, so that what Redis lacks is known at the start. */
async function tryOut(hub: Hub): Promise<void> {
  const key = { app: '', user: '', id: randomUUID(), fence: 1 };
  await hub.take(key, 'try');
  const oldest = { fence: 1, last: 0 };
  await hub.append([{ key, epoch: 'try', last: 1, text: '[null]', isWhole: false, oldest }]);
  await hub.remove(key);
}
