import { createHash } from 'node:crypto';
import type { Added, Addition, Hub, LogWindow, Spending } from '../log/hub.ts';
import { nameOf } from '../store/rules.ts';
import { type OwnedKey, type SessionKey, StaleFence } from '../store/store.ts';
import type { RedisConnection } from './redis-connection.ts';
import { APPEND, CONNECTIONS, SPEND, TAKE } from './scripts.ts';

/** How long Redis keeps a log after the last chunk was added, or after an owner opened the log. */
const KEEP_MS = 5 * 60_000;
const KEEP_COUNTS_MS = 24 * 60 * 60_000;

/** The meaning of the numbers that `APPEND` returns. */
const ADDED: Record<number, Added> = { 1: 'kept', '-1': 'refused', '-2': 'gone' };

/** The parts of the Redis keys of a group of nodes. */
export interface Keys {
  prefix: string;
  /** The name of this process, under which its connections are counted. */
  node: string;
}

/** The key that exists while a node lives. */
export function aliveKey({ prefix, node }: Keys): string {
  return `${prefix}:node:${node}`;
}

/** The hub of a group of nodes in Redis. Each log is a Redis stream with an entry for each `LogWindow`. */
export class RedisHub implements Hub {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;

  constructor(connection: RedisConnection, keys: Keys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  async take(key: OwnedKey, epoch: string): Promise<{ epoch: string; windows: LogWindow[] }> {
    const args = [String(key.fence), epoch, String(KEEP_MS)];
    const found = await this.#connection.call(TAKE, [this.#logKey(key)], args);
    if (found === -1) throw new StaleFence(key);
    const entries = found as [id: string, fields: [epoch: string, text: string]][];
    const windows = entries.flatMap(([id, [, text]]): LogWindow[] => {
      const [fence, last] = id.split('-').map(Number);
      // `TAKE` adds an entry without chunks, which only keeps earlier owners from adding more.
      return text === '' || fence === undefined || last === undefined ? [] : [{ fence, last, text }];
    });
    return { epoch: entries.at(-1)?.[1][0] ?? epoch, windows };
  }

  async append(additions: readonly Addition[]): Promise<Added[]> {
    const args = additions.flatMap(({ key, epoch, last, text, isWhole, oldest }) => [
      String(key.fence),
      String(last),
      epoch,
      text,
      isWhole ? '1' : '0',
      oldest ? `${oldest.fence}-${oldest.last}` : '',
    ]);
    const keys = additions.map(({ key }) => this.#logKey(key));
    const results = await this.#connection.call(APPEND, keys, [String(KEEP_MS), ...args]);
    return (results as number[]).map((result) => ADDED[result] ?? 'refused');
  }

  async remove(key: OwnedKey): Promise<void> {
    await this.#connection.run(['DEL', this.#logKey(key)]);
  }

  async spend({ limit, user, burst, perMinute, count }: Spending): Promise<number> {
    const key = `${this.#keys.prefix}:limit:${limit}:${digest(user)}`;
    return Number(
      await this.#connection.call(SPEND, [key], [String(burst), String(perMinute), String(count)]),
    );
  }

  async connections(user: string, count: number): Promise<number> {
    const { prefix, node } = this.#keys;
    const key = `${prefix}:connections:${digest(user)}`;
    const alive = aliveKey({ prefix, node: '' });
    const args = [node, String(count), alive, String(KEEP_COUNTS_MS)];
    return (await this.#connection.call(CONNECTIONS, [key], args)) as number;
  }

  get process(): string {
    return this.#keys.node;
  }

  async forget(process: string): Promise<void> {
    await this.#connection.run(['DEL', aliveKey({ ...this.#keys, node: process })]);
  }

  fault(): string | null {
    return this.#connection.fault;
  }

  onBack(callback: () => void): () => void {
    return this.#connection.onBack(callback);
  }

  async close(): Promise<void> {
    // Without the alive key, the connections of this node are no longer counted.
    await this.#connection.run(['DEL', aliveKey(this.#keys)]).catch(() => undefined);
    this.#connection.close();
  }

  #logKey(key: SessionKey): string {
    return `${this.#keys.prefix}:log:${digest(nameOf(key))}`;
  }
}

/** A hash for use in keys, because the names of users and sessions may contain any character. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
