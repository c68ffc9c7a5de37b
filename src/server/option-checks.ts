/** The checks from which `options.ts` composes those of the options of a server. Each describes valid values in words. */
import type { RunConfig } from '@google/adk';
import { type Check, nearest, type OptionChecks } from '../protocol/options.ts';
import type { RateLimit } from './access/limits.ts';
import { missingFunction } from './contracts.ts';

/** Creates a check from a test of a value, and a description of valid values. */
export const has = (test: (value: unknown) => boolean, wanted: string): Check => {
  return (value) => (test(value) ? null : wanted);
};

/** Whether a value is an object and no list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isNumber = (value: unknown): value is number => typeof value === 'number';
const areTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

export const fullText = has(
  (value) => typeof value === 'string' && value !== '',
  'a string that is not empty',
);
/** Users see values that the secret encrypts, so a shorter secret could be guessed. */
export const secretText = has(
  (value) => typeof value === 'string' && value.length >= 16,
  'a string of at least 16 random characters',
);
export const bool = has((value) => typeof value === 'boolean', 'true or false');
export const func = has((value) => typeof value === 'function', 'a function');
export const count = has((value) => isNumber(value) && value >= 0, 'a number that is not negative');
/** A timer cannot wait for `Infinity` milliseconds, and JSON has no such time. */
export const time = has(
  (value) => value === null || (isNumber(value) && value >= 0 && value < Number.POSITIVE_INFINITY),
  'a number of milliseconds that is not negative, or null for no limit',
);
export const positiveTime = has(
  (value) => isNumber(value) && value > 0 && value < Number.POSITIVE_INFINITY,
  'a number of milliseconds greater than 0',
);
export const texts = has(areTexts, 'a list of strings');
export const headerNames = has(
  (value) =>
    Array.isArray(value) &&
    value.every((name) => typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(name)),
  'a list of names of headers',
);

/** Checks an absolute address that begins with http: or https:. */
export const address = (example: string): Check =>
  has(
    (value) => typeof value === 'string' && /^https?:\/\/./i.test(value) && URL.canParse(value),
    `an address such as "${example}"`,
  );

/** Checks a service of ADK, by its functions. */
export const service = (...methods: string[]): Check =>
  has(
    (value) => isObject(value) && methods.every((name) => typeof value[name] === 'function'),
    `a service of ADK with the functions ${methods.join(' and ')}`,
  );

/** Checks that an object has all functions of a contract (`contracts.ts`). The text names the first that is missing. */
export const contract =
  (what: string, functions: Readonly<Record<string, true>>): Check =>
  (value) => {
    const missing = missingFunction(value, functions);
    if (missing === null) return null;
    return missing === undefined ? what : `${what}, with the function ${missing}`;
  };

/** Checks that a value is one of a few texts. */
export const oneOf = (...values: string[]): Check =>
  has((value) => values.includes(value as string), values.map((value) => JSON.stringify(value)).join(' or '));

/** A check of an object. `fields` has the checks of its fields. */
export interface NestedCheck extends Check {
  readonly fields: Readonly<Record<string, Check>>;
}

/** Checks that a value is an object with no other fields than those of a type, each valid. Only the fields in `required` must be present. */
export function fields<T>(all: OptionChecks<T>, required: readonly (keyof T & string)[] = []): NestedCheck {
  const checks: Record<string, Check> = all;
  const check: Check = (value) => {
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
  return Object.assign(check, { fields: checks });
}

/** Checks that a value passes a test, or is an object that passes a check. `words` describes the values of the test. */
export function either(test: (value: unknown) => boolean, words: string, check: NestedCheck): NestedCheck {
  const whole: Check = (value) => {
    const wanted = test(value) ? null : check(value);
    return wanted && `${words}, or ${wanted}`;
  };
  return Object.assign(whole, { fields: check.fields });
}

/** Checks an object of numbers with the names of the defaults. */
export const numbers = (defaults: object): NestedCheck =>
  fields(Object.fromEntries(Object.keys(defaults).map((name) => [name, count])));

/** Checks a rate limit, or false for none. */
export const rate = either(
  (value) => value === false,
  'false for no limit',
  fields<RateLimit>({ burst: count, perMinute: count }, ['burst', 'perMinute']),
);

const object = has(isObject, 'an object');

const RUN_CONFIG: OptionChecks<RunConfig> = {
  speechConfig: object,
  responseModalities: texts,
  saveInputBlobsAsArtifacts: bool,
  supportCfc: bool,
  streamingMode: oneOf('none', 'sse'),
  outputAudioTranscription: object,
  inputAudioTranscription: object,
  enableAffectiveDialog: bool,
  proactivity: object,
  realtimeInputConfig: object,
  contextWindowCompression: object,
  maxLlmCalls: has(Number.isSafeInteger, 'a whole number'),
  pauseOnToolCalls: bool,
  plainTextToolConfirmation: bool,
  allowRemoteToolConfirmation: bool,
  remoteDelivered: bool,
};

/**
 * Checks ADK's configuration of live runs. A newer version of ADK may have more fields than this one, so an unknown field is refused only when it resembles a
 * known one.
 */
export const runConfig: Check = (value) => {
  if (!isObject(value)) return 'a RunConfig of @google/adk, such as { speechConfig }';
  const checks: Readonly<Record<string, Check>> = RUN_CONFIG;
  for (const [name, one] of Object.entries(value)) {
    if (!Object.hasOwn(checks, name)) {
      const [near] = nearest(name, Object.keys(checks));
      if (near) return `an object without "${name}" (did you mean "${near}"?)`;
    }
    const wanted = one === undefined ? null : checks[name]?.(one);
    if (wanted) return `an object whose "${name}" is ${wanted}`;
  }
  return null;
};
