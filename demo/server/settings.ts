import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { resolve } from 'node:path';

/** The settings of `npm start`, from the environment. */
export interface Settings {
  host: string;
  port: number;
  origins: string[];
  /** The proxies in front of the server whose `X-Forwarded-For` is trusted: their number, or their addresses and networks. */
  trustedProxies: number | string[];
  dataDir: string;
  /** The PostgreSQL and Redis that several nodes share, and the address of this node; null for a single process. */
  shared: { database: string; redis: string | null; address: string } | null;
  apiKey: string | undefined;
  confirmations: 'approval' | 'tool';
  approvals: 'sequential' | 'parallel';
  approvalTimeoutMs: number | null | undefined;
  /** Whether the inspector may read ADK's events. By default it may when the server listens on a loopback address. */
  inspect: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the settings from the environment. Throws an error that names the variable when a value is not valid. */
export function readSettings(env: Environment): Settings {
  const host = env.HOST || 'localhost';
  const isLocal = isLoopback(host);
  const apiKey = env.DUOLOGUE_API_KEY || undefined;
  if (!isLocal && apiKey === undefined) {
    throw new Error(
      `HOST is "${host}", which others can reach. Set DUOLOGUE_API_KEY to a key that they must show, or leave HOST out to listen on this machine alone.`,
    );
  }
  const port = integer(env, 'PORT', 0, 65_535) ?? 3000;
  return {
    host,
    port,
    origins: (env.DUOLOGUE_ORIGINS ?? '').split(',').flatMap((origin) => originIn(origin.trim())),
    trustedProxies: proxiesIn(env.DUOLOGUE_TRUSTED_PROXIES ?? ''),
    dataDir: resolve(env.DUOLOGUE_DATA || '.data'),
    shared: sharedIn(env, host, port),
    apiKey,
    confirmations: oneOf(env, 'DUOLOGUE_CONFIRMATIONS', ['approval', 'tool']),
    approvals: oneOf(env, 'DUOLOGUE_APPROVALS', ['sequential', 'parallel']),
    approvalTimeoutMs:
      env.DUOLOGUE_APPROVAL_TIMEOUT_MS === 'none'
        ? null
        : integer(env, 'DUOLOGUE_APPROVAL_TIMEOUT_MS', 1, 2 ** 31 - 1),
    inspect: oneOf(env, 'DUOLOGUE_INSPECT', ['0', '1'], isLocal ? '1' : '0') === '1',
  };
}

function sharedIn(env: Environment, host: string, port: number): Settings['shared'] {
  const database = engineIn(env, 'DATABASE_URL', ['postgres:', 'postgresql:'], 'user:password@host/database');
  const redis = engineIn(env, 'REDIS_URL', ['redis:', 'rediss:'], 'host:6379');
  if (!database && redis) {
    throw new Error(
      'REDIS_URL is for several nodes, which share a PostgreSQL too: set DATABASE_URL as well, or leave REDIS_URL out.',
    );
  }
  return database ? { database, redis, address: addressOf(env, host, port) } : null;
}

/** The address of an engine; null when none is given. Error texts never contain the value, because it may include a password. */
function engineIn(
  env: Environment,
  name: string,
  protocols: readonly string[],
  example: string,
): string | null {
  const text = env[name];
  if (!text) return null;
  if (!URL.canParse(text) || !protocols.includes(new URL(text).protocol)) {
    throw new Error(`${name} is not an address such as ${protocols[0]}//${example}.`);
  }
  return text;
}

/** The address at which other nodes reach this one: the given one, otherwise `HOST`; for `0.0.0.0` the first IPv4 address of this machine. */
function addressOf(env: Environment, host: string, port: number): string {
  const given = env.DUOLOGUE_NODE_URL;
  if (given) {
    if (!/^https?:\/\//.test(given) || !URL.canParse(given))
      throw new Error(`DUOLOGUE_NODE_URL: "${given}" is not an address such as http://10.0.0.7:3000.`);
    return new URL(given).origin;
  }
  if (port === 0) throw new Error('With DATABASE_URL other nodes must know the port of this one: set PORT.');
  if (isLoopback(host)) return `http://${host === '::1' ? '[::1]' : host}:${port}`;
  const inNetwork = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal);
  const isEverywhere = host === '0.0.0.0' || host === '::';
  return `http://${isEverywhere ? (inNetwork?.address ?? '127.0.0.1') : host}:${port}`;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

function integer(env: Environment, name: string, min: number, max: number): number | undefined {
  const text = env[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new Error(`${name} must be a whole number from ${min} to ${max}, not "${text}".`);
  }
  return value;
}

function oneOf<T extends string>(
  env: Environment,
  name: string,
  values: readonly [T, ...T[]],
  fallback: T = values[0],
): T {
  const text = env[name] || fallback;
  const value = values.find((candidate) => candidate === text);
  if (value === undefined) throw new Error(`${name} must be one of ${values.join(', ')}, not "${text}".`);
  return value;
}

function originIn(text: string): string[] {
  if (text === '') return [];
  try {
    return [new URL(text).origin];
  } catch {
    throw new Error(`DUOLOGUE_ORIGINS: "${text}" is not an origin such as https://chat.example.com.`);
  }
}

/** The number of proxies, or the list of their addresses and networks; 0 for an empty text. */
function proxiesIn(text: string): number | string[] {
  if (/^\s*\d*\s*$/.test(text)) return Number(text);
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.filter((entry) => {
    if (entry !== '' && !isNetwork(entry))
      throw new Error(
        `DUOLOGUE_TRUSTED_PROXIES: "${entry}" is neither a number of proxies nor an address or network such as 10.0.0.0/8.`,
      );
    return entry !== '';
  });
}

function isNetwork(entry: string): boolean {
  const [address = '', bits = '0', more] = entry.split('/');
  if (isIP(address) === 0 || !/^\d+$/.test(bits) || more !== undefined) return false;
  return Number(bits) <= (isIP(address) === 4 ? 32 : 128);
}
