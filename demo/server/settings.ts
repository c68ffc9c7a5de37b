import { resolve } from 'node:path';

/** What the environment sets; each is an option of the server too. */
export interface Settings {
  host: string;
  port: number;
  origins: string[];
  dataDir: string;
  apiKey: string | undefined;
  confirmations: 'approval' | 'tool';
  approvals: 'sequential' | 'parallel';
  approvalTimeoutMs: number | null | undefined;
  /** Whether the inspector may see the events behind the conversation: on this machine only, unless it is said. */
  inspect: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the environment; throws in plain words when something in it cannot work. */
export function readSettings(env: Environment): Settings {
  const host = env.HOST || 'localhost';
  const isLocal = host === 'localhost' || host === '::1' || host.startsWith('127.');
  const apiKey = env.DUOLOGUE_API_KEY || undefined;
  if (!isLocal && apiKey === undefined) {
    throw new Error(
      `HOST is "${host}", which others can reach. Set DUOLOGUE_API_KEY to a key that they must show, or leave HOST out to listen on this machine alone.`,
    );
  }
  return {
    host,
    port: integer(env, 'PORT', 0, 65_535) ?? 3000,
    origins: (env.DUOLOGUE_ORIGINS ?? '').split(',').flatMap((origin) => originIn(origin.trim())),
    dataDir: resolve(env.DUOLOGUE_DATA || '.data'),
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
