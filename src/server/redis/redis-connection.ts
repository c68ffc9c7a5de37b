import { StoreError } from '../store/store.ts';
import type { Script } from './scripts.ts';

/** Options of a Redis hub. */
export interface RedisOptions {
  /** `redis://user:password@host:port/database`, or `rediss://` for TLS, as the package `redis` takes it. */
  url: string;
  /** The prefix of all keys; `duologue` unless given. Groups of servers with different prefixes may share a Redis. */
  prefix?: string;
  /** Called when Redis becomes unreachable or refuses writes, and when it is reachable again. */
  onWarning?: (message: string) => void;
}

type Client = Awaited<ReturnType<typeof newClient>>;

const CONNECT_MS = 2000;
const MIN_WAIT_MS = 25;
const MAX_WAIT_MS = 500;
/** The time between two renewals of the alive key. */
const BEAT_MS = 1000;
/** When Redis does not answer a renewal of the alive key within this time, it is frozen or unreachable, and a new connection is opened. */
const ANSWER_MS = 2000;

/** The connection to a Redis server, which reconnects by itself. Without a connection every command fails at once. A failed command never ends the process. */
export class RedisConnection {
  readonly #options: RedisOptions;
  readonly #onBack = new Set<() => void>();
  /** The command that renews the alive key, sent every second. */
  readonly #beat: readonly string[];
  #client: Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isBeating = false;
  #isAway = false;
  /** The error with which Redis refused the last renewal, because its memory is full or it is read-only; null when Redis accepted it. */
  #refusal: string | null = null;
  #isClosed = false;

  private constructor(options: RedisOptions, beat: readonly string[]) {
    this.#options = options;
    this.#beat = beat;
  }

  /** Connects. Throws an error with the reason when that fails. `beat`: the command that is sent every second. */
  static async open(options: RedisOptions, beat: readonly string[]): Promise<RedisConnection> {
    const connection = new RedisConnection(options, beat);
    // Throw when the first connection fails, because waiting does not repair a wrong address or password.
    await tryOnce(options.url, beat).catch((cause: unknown) => {
      throw cause instanceof StoreError
        ? cause
        : new StoreError(describeFault(cause, options.url), { cause });
    });
    await connection.#connect();
    connection.#timer = setInterval(() => connection.#sayAlive(), BEAT_MS);
    connection.#timer.unref();
    return connection;
  }

  /** Sends a command. Rejects at once when there is no connection. */
  async run(args: readonly string[]): Promise<unknown> {
    if (!this.#client) throw new StoreError('Redis is unavailable.');
    return this.#client.sendCommand([...args]);
  }

  /** Runs a script by its hash. Sends the text of the script when Redis does not know the hash. */
  async call({ sha, text }: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.run(['EVALSHA', sha, ...rest]);
    } catch (error) {
      if (!String(error).includes('NOSCRIPT')) throw error;
      return this.run(['EVAL', text, ...rest]);
    }
  }

  /** Why Redis cannot be used at the moment; null when it can. */
  get fault(): string | null {
    return this.#isAway ? `No Redis answers at ${placeOf(this.#options.url)}.` : this.#refusal;
  }

  onBack(callback: () => void): () => void {
    this.#onBack.add(callback);
    return () => this.#onBack.delete(callback);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#client?.destroy();
    this.#client = null;
  }

  async #connect(): Promise<void> {
    const client = await newClient(this.#options.url, (retries) =>
      Math.min(MIN_WAIT_MS * 2 ** retries, MAX_WAIT_MS),
    );
    if (this.#isClosed) return;
    this.#client = client;
    const isCurrent = () => this.#client === client;
    // Without a listener for `error`, a broken connection would end the process.
    client.on('error', (error: unknown) => {
      if (isCurrent()) this.#away(error);
    });
    client.on('ready', () => {
      if (isCurrent()) this.#back();
    });
    await client.connect();
  }

  #away(error: unknown): void {
    if (this.#isAway || this.#isClosed) return;
    this.#isAway = true;
    this.#options.onWarning?.(
      `Redis is unavailable: ${error instanceof Error ? error.message : String(error)}`,
    );
  }

  #back(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#options.onWarning?.('Redis is reachable again.');
    for (const callback of [...this.#onBack]) callback();
  }

  /** Renews the alive key, and so checks that Redis answers, because the package `redis` has no timeout for commands. */
  #sayAlive(): void {
    const client = this.#client;
    if (this.#isBeating || !client?.isReady) return;
    this.#isBeating = true;
    const late = setTimeout(() => this.#replace(client), ANSWER_MS);
    late.unref();
    const over = () => {
      clearTimeout(late);
      this.#isBeating = false;
    };
    client.sendCommand([...this.#beat]).then(
      () => {
        over();
        this.#refusal = null;
      },
      (error: unknown) => {
        over();
        this.#refused(error);
      },
    );
  }

  /** Records that Redis answers but refuses writes. A broken connection is handled by the events of the client instead. */
  #refused(error: unknown): void {
    if (this.#isAway || this.#isClosed || !this.#client?.isReady) return;
    const words = describeFault(error, this.#options.url);
    if (this.#refusal === null) this.#options.onWarning?.(words);
    this.#refusal = words;
  }

  /** Replaces a connection on which Redis does not answer. Commands that wait for an answer fail. */
  #replace(client: Client): void {
    if (this.#client !== client) return;
    this.#away(new Error('Redis does not answer.'));
    this.#client = null;
    client.destroy();
    this.#connect().catch((error: unknown) => this.#away(error));
  }
}

/** Connects, sends one command, and disconnects. */
async function tryOnce(url: string, command: readonly string[]): Promise<void> {
  const client = await newClient(url, (_, cause) => cause);
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.sendCommand([...command]);
  } finally {
    client.destroy();
  }
}

async function newClient(url: string, reconnectStrategy: (retries: number, cause: Error) => number | Error) {
  const { createClient } = await loadDriver();
  return createClient({
    url,
    RESP: 2,
    // Without a connection a command fails at once instead of waiting in a queue of the driver: the caller decides what to do.
    disableOfflineQueue: true,
    socket: { connectTimeout: CONNECT_MS, reconnectStrategy },
  });
}

/** The error text about a Redis that cannot be used: the cause, and what to do. It never contains the password. */
export function describeFault(error: unknown, url: string): string {
  const where = placeOf(url);
  const message = error instanceof Error ? error.message : String(error);
  const { code } = (error ?? {}) as { code?: unknown };
  const isUnreached =
    /\bE(CONNREFUSED|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH)\b|Connection timeout/;
  // The driver wraps some of these errors: then only the message has the code.
  if (isUnreached.test(`${code} ${message}`))
    return `No Redis answers at ${where}: check the address (REDIS_URL), and that it runs.`;
  if (/WRONGPASS|NOAUTH|invalid password/i.test(message))
    return `Redis at ${where} refuses the login: check the name and the password (REDIS_URL).`;
  if (/NOPERM|can't run this command|ACL failure/.test(message))
    return `The user of REDIS_URL lacks permissions at ${where}: allow scripts, streams, hashes and SET on keys that begin with the prefix.`;
  if (/READONLY/.test(message))
    return `Redis at ${where} is read-only (a replica?): give the address of the primary.`;
  if (/unknown (redis )?command|syntax error|wrong number of arguments/i.test(message)) return tooOld(where);
  if (/OOM/.test(message))
    return `The memory of Redis at ${where} is full, so nothing can be written: make room.`;
  return `Redis at ${where} cannot be used: ${message}`;
}

export function tooOld(where: string): string {
  return `Redis at ${where} is too old, or has no streams: version 6.2 or newer, or Valkey, is needed.`;
}

/** The address without user and password. */
export function placeOf(url: string): string {
  try {
    const { hostname, port } = new URL(url);
    return `${hostname}${port && `:${port}`}`;
  } catch {
    return 'the given address';
  }
}

async function loadDriver(): Promise<typeof import('redis')> {
  try {
    return await import('redis');
  } catch (cause) {
    throw new StoreError('Keeping logs in Redis needs the package redis: run `npm install redis`.', {
      cause,
    });
  }
}
