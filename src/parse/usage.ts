import { list, type Obj, obj, str } from './json.ts';
import type { Modality, Usage, Warning } from './record.ts';
import { warn } from './warn.ts';

type Count = number | null;
type Path = readonly string[];

/** Where a provider keeps its counters, and what it leaves out of them. */
interface Places {
  /** In the order of `places`; of several paths the first that is filled counts. */
  counters: readonly (readonly Path[])[];
  /** `input` leaves out what the cache read and wrote. */
  withoutCache?: boolean;
  /** `output` leaves out the reasoning. */
  withoutReasoning?: boolean;
}

/** One argument for each counter: input, output, cache read, cache write, total, reasoning, tool-use prompt. */
function places(...counters: string[]): readonly (readonly Path[])[] {
  return counters.map((paths) => paths.split(' ').map((path) => path.split('.')));
}

const GEMINI: Places = {
  counters: places(
    'promptTokenCount',
    'candidatesTokenCount responseTokenCount',
    'cachedContentTokenCount',
    '',
    'totalTokenCount',
    'thoughtsTokenCount',
    'toolUsePromptTokenCount',
  ),
  withoutReasoning: true,
};

const PLACES = {
  gemini: GEMINI,
  live: GEMINI,
  interactions: {
    counters: places(
      'total_input_tokens',
      'total_output_tokens',
      'total_cached_tokens',
      '',
      'total_tokens',
      'total_thought_tokens',
      'total_tool_use_tokens',
    ),
    withoutReasoning: true,
  },
  converse: {
    counters: places(
      'inputTokens',
      'outputTokens',
      'cacheReadInputTokens cacheReadInputTokenCount',
      'cacheWriteInputTokens cacheWriteInputTokenCount',
      'totalTokens',
    ),
    withoutCache: true,
  },
  metrics: {
    counters: places(
      'inputTokenCount',
      'outputTokenCount',
      'cacheReadInputTokenCount',
      'cacheWriteInputTokenCount',
    ),
    withoutCache: true,
  },
  anthropic: {
    counters: places(
      'input_tokens',
      'output_tokens',
      'cache_read_input_tokens',
      'cache_creation_input_tokens',
      '',
      'output_tokens_details.thinking_tokens',
    ),
    withoutCache: true,
  },
  openai: {
    counters: places(
      'prompt_tokens input_tokens',
      'completion_tokens output_tokens',
      'prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens input_token_details.cached_tokens num_cached_tokens cached_tokens prompt_cache_hit_tokens',
      'prompt_tokens_details.cache_write_tokens input_tokens_details.cache_write_tokens',
      'total_tokens',
      'completion_tokens_details.reasoning_tokens output_tokens_details.reasoning_tokens',
    ),
  },
} satisfies Record<string, Places>;

/** Whose usage object it is. */
export type UsageKind = keyof typeof PLACES;

/** A token count: a finite number of zero or more, null when absent or nonsense. */
function count(value: unknown, warnings: Warning[]): Count {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  warn(warnings, 'non_finite_number', `a token count is ${typeof value === 'number' ? value : typeof value}`);
  return null;
}

function find(raw: Obj, paths: readonly Path[] | undefined, warnings: Warning[]): Count {
  if (paths === undefined) return null;
  for (const [key = '', inner] of paths) {
    const value = inner === undefined ? raw[key] : obj(raw[key])[inner];
    if (value !== undefined && value !== null) return count(value, warnings);
  }
  return null;
}

function plus(a: Count, b: Count): Count {
  return a === null ? b : b === null ? a : a + b;
}

function minus(a: Count, b: Count): Count {
  if (a === null || b === null) return a;
  return a >= b ? a - b : null;
}

const OUTPUT = /^(candidates|completion|output|response)/;
const DETAILS = /(details|modality)$/i;

function modalityOf(raw: Obj, warnings: Warning[]): Modality | undefined {
  let modality: Modality | undefined;
  const add = (key: string, name: string, value: unknown): void => {
    const tokens = count(value, warnings);
    if (!tokens || name === '__proto__') return;
    modality ??= { input: {}, output: {} };
    const into = modality[OUTPUT.test(key) ? 'output' : 'input'];
    into[name] = (into[name] ?? 0) + tokens;
  };
  for (const key in raw) {
    const details = raw[key];
    if (typeof details !== 'object' || details === null || key.startsWith('cache') || !DETAILS.test(key))
      continue;
    if (Array.isArray(details)) {
      for (const entry of details)
        add(key, str(obj(entry).modality).toLowerCase(), obj(entry).tokenCount ?? obj(entry).tokens);
    } else for (const name of ['text', 'image', 'audio']) add(key, name, obj(details)[`${name}_tokens`]);
  }
  return modality;
}

function hourOf(raw: Obj, warnings: Warning[]): Count {
  const kept = list(raw.cacheDetails).find((entry) => obj(entry).ttl === '1h');
  return count(obj(raw.cache_creation).ephemeral_1h_input_tokens ?? obj(kept).inputTokens, warnings);
}

/** Reads a usage object; null when it states no count at all. */
export function readUsage(
  kind: UsageKind,
  raw: Obj,
  warnings: Warning[],
  source: Usage['source'] = 'body',
): Usage | null {
  const { counters, withoutCache, withoutReasoning }: Places = PLACES[kind];
  const counter = (i: number): Count => find(raw, counters[i], warnings);
  const reported = { input: counter(0), output: counter(1), total: counter(4) };
  const cacheRead = counter(2);
  const cacheWrite = counter(3);
  const reasoning = counter(5);
  const stated = reported.total;
  let input = plus(reported.input, counter(6));
  let output = reported.output;
  if (withoutCache && input !== null) input = plus(plus(input, cacheRead), cacheWrite);
  if (withoutReasoning) {
    // Gemini leaves out a counter that is zero.
    output = plus(output, reasoning) ?? (input === null ? null : 0);
    input ??= minus(stated, output);
  } else if (reasoning && output !== null && stated === (input ?? 0) + output + reasoning) {
    output += reasoning;
    warn(warnings, 'usage_reasoning_outside_output', `${reasoning} tokens`);
  }
  if (input === null && output === null && stated === null) return null;
  const sum = input === null || output === null ? null : input + output;
  // Live leaves thoughts out of its total.
  if (kind !== 'live' && stated !== null && sum !== null && stated !== sum) {
    warn(warnings, 'usage_total_mismatch', `${stated} is not ${input} + ${output}`);
  }
  const usage: Usage = {
    input,
    inputUncached: minus(minus(input, cacheRead), cacheWrite),
    cacheRead,
    cacheWrite,
    output,
    outputText: minus(output, reasoning),
    reasoning,
    total: stated ?? sum,
    reported,
    source,
  };
  const modality = modalityOf(raw, warnings);
  if (modality !== undefined) usage.modality = modality;
  const hour = hourOf(raw, warnings);
  if (hour !== null) usage.cacheWrite1h = hour;
  const serverTools = raw.server_tool_use ?? raw.serverToolUsage;
  if (serverTools) usage.serverTools = serverTools;
  if (Array.isArray(raw.iterations)) usage.iterations = raw.iterations;
  return usage;
}

/** Usage of a Bedrock InvokeModel response, from its HTTP headers. */
export function headerUsage(header: (name: string) => string | null, warnings: Warning[]): Usage | null {
  const named = (what: string) => header(`x-amzn-bedrock-${what}-token-count`);
  const raw = {
    inputTokenCount: named('input'),
    outputTokenCount: named('output'),
    cacheReadInputTokenCount: named('cache-read-input'),
    cacheWriteInputTokenCount: named('cache-write-input'),
  };
  return readUsage('metrics', raw, warnings, 'headers');
}

/** The usage behind a raw usage object of any provider; the name only tells Anthropic and OpenAI Responses apart. */
export function usageOf(provider: string, raw: unknown): Usage | null {
  const usage = obj(raw);
  const cached = usage.cache_read_input_tokens ?? usage.cache_creation_input_tokens;
  const named = /anthropic|claude|bedrock/i.test(provider) && usage.prompt_tokens === undefined;
  const last = cached !== undefined || named ? 'anthropic' : 'openai';
  const first = usage.responseTokenCount === undefined ? 'gemini' : 'live';
  for (const kind of [first, 'interactions', 'converse', 'metrics', last] as const) {
    const found = readUsage(kind, usage, []);
    if (found !== null && found.reported.input !== null) return found;
  }
  return null;
}
