import { knownTools, nearest, unknownTool } from '../adk/for-server.ts';
import { LIMITS } from '../protocol/index.ts';
import { defaultBudget } from './access/byte-budget.ts';
import { areProxies } from './access/client-address.ts';
import type { RateLimit } from './access/rate-limit.ts';
import type { SessionOptions } from './engine.ts';
import type { Logger } from './logger.ts';
import type { NodeOptions } from './nodes/node.ts';
import type { DuologueOptions } from './options.ts';
import { DEFAULT_SOCKET_LIMITS } from './socket/socket.ts';

/** Returns what a value should be, in words, when it is something else; null when it is right. */
type Check = (value: unknown) => string | null;

const has = (test: (value: unknown) => boolean, wanted: string): Check => {
  return (value) => (test(value) ? null : wanted);
};
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = has((value) => typeof value === 'string', 'a string');
const bool = has((value) => typeof value === 'boolean', 'true or false');
const func = has((value) => typeof value === 'function', 'a function');
const object = has(isObject, 'an object');
const count = has((value) => typeof value === 'number' && value >= 0, 'a number that is not negative');
const time = has(
  (value) => value === null || (typeof value === 'number' && value >= 0),
  'a number of milliseconds that is not negative, or null for no limit',
);
const texts = has(
  (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
  'a list of strings',
);
const list = has(Array.isArray, 'a list');

const oneOf = (...values: string[]): Check =>
  has((value) => values.includes(value as string), values.map((value) => JSON.stringify(value)).join(' or '));

/** An object with the fields of a type and no others; none is required but those that are listed. */
function fields<T>(all: Record<keyof T, Check>, required: readonly (keyof T & string)[] = []): Check {
  const checks: Record<string, Check> = all;
  return (value) => {
    if (!isObject(value)) return 'an object';
    for (const [name, one] of Object.entries(value)) {
      const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
      if (!check) return `an object without "${name}" (it has ${Object.keys(checks).join(', ')})`;
      const wanted = one === undefined ? null : check(one);
      if (wanted) return `an object whose "${name}" is ${wanted}`;
    }
    const missing = required.find((name) => value[name] === undefined);
    return missing ? `an object with "${missing}"` : null;
  };
}

const either =
  (test: (value: unknown) => boolean, words: string, check: Check): Check =>
  (value) => {
    const wanted = test(value) ? null : check(value);
    return wanted && `${words}, or ${wanted}`;
  };

const numbers = (defaults: object): Check =>
  fields(Object.fromEntries(Object.keys(defaults).map((name) => [name, count])));

const rate = either(
  (value) => value === false,
  'false for no limit',
  fields<RateLimit>({ burst: count, perMinute: count }, ['burst', 'perMinute']),
);

/** What each option must be. */
const CHECKS: Record<keyof DuologueOptions, Check> = {
  agent: has(isObject, 'an agent of @google/adk'),
  appName: text,
  store: object,
  node: fields<NodeOptions>({ address: text, leaseMs: count, drainMs: count }, ['address']),
  hub: object,
  plugins: list,
  basePath: text,
  apiKey: has((value) => typeof value === 'string' && value !== '', 'a string that is not empty'),
  origins: texts,
  hosts: texts,
  trustedProxies: has(
    areProxies,
    'a number of proxies, or a list of their addresses and networks (10.0.0.0/8)',
  ),
  authenticate: func,
  stillSignedIn: func,
  rateLimit: rate,
  readLimit: rate,
  newSessions: rate,
  toolsRequiringApproval: texts,
  images: oneOf('file', 'data-image'),
  denials: oneOf('tool-output-error', 'tool-output-denied'),
  confirmations: oneOf('approval', 'tool'),
  approvals: oneOf('sequential', 'parallel'),
  approvalTimeoutMs: either(
    (value) => time(value) === null,
    'a number of milliseconds, null for no limit',
    fields<SessionOptions['approvalTimeoutMs']>({ sse: time, bidi: time }),
  ),
  clientTimeoutMs: time,
  toolTimeoutMs: time,
  concurrentTools: texts,
  whenBusy: oneOf('queue', 'interrupt'),
  live: object,
  driver: oneOf('live', 'turn'),
  retryPolicy: fields<NonNullable<DuologueOptions['retryPolicy']>>({
    retries: count,
    maxWaitMs: count,
    firstTokenMs: time,
    nextTokenMs: time,
    random: func,
  }),
  history: fields<NonNullable<DuologueOptions['history']>>({
    maxEvents: count,
    maxBytes: count,
    maxImageBytes: count,
    maxSessionBytes: count,
  }),
  limits: numbers(LIMITS),
  budget: numbers(defaultBudget()),
  socketLimits: numbers(DEFAULT_SOCKET_LIMITS),
  inspect: bool,
  logger: has(
    (value) =>
      isObject(value) && ['info', 'warn', 'error'].every((level) => typeof value[level] === 'function'),
    'an object with the functions info, warn and error',
  ),
  clock: object,
  newId: func,
};

/** Throws a sentence that names the option when an option is unknown or has a value that cannot work. */
export function checkOptions(options: DuologueOptions): void {
  if (!isObject(options))
    throw new TypeError('createDuologue wants an object of options, such as { agent }.');
  for (const [name, value] of Object.entries(options)) {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name as keyof DuologueOptions] : undefined;
    if (!check) {
      const [near] = nearest(name, Object.keys(CHECKS));
      const hint = near ? ` Did you mean "${near}"?` : '';
      throw new TypeError(`createDuologue has no option "${name}".${hint}`);
    }
    const wanted = value === undefined ? null : check(value);
    if (wanted) throw new TypeError(`createDuologue: the option "${name}" must be ${wanted}.`);
  }
}

/**
 * Checks the tools of an agent and the options that name tools: a misspelt name would let a tool run unapproved. Throws when no agent has such a
 * tool. Where a toolset may still bring it, which is known only when the agent runs, a warning is logged instead.
 */
export function checkTools(options: DuologueOptions, logger: Logger): void {
  const { agent, toolsRequiringApproval = [], concurrentTools = [] } = options;
  const { names, open } = knownTools(agent);
  const named = [
    ...toolsRequiringApproval.map((name) => ['toolsRequiringApproval', name] as const),
    ...concurrentTools.map((name) => ['concurrentTools', name] as const),
  ];
  for (const [option, name] of named) {
    if (names.has(name)) continue;
    const sentence = unknownTool(option, name, names);
    if (open.size === 0) throw new Error(sentence);
    logger.warn(`${sentence} It has an effect only if a toolset brings a tool of that name.`);
  }
}
