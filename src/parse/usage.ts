import { list, type Obj, obj, str } from './json.ts';
import type { Modality, Usage, Warning } from './record.ts';
import { warn } from './warn.ts';

type Count = number | null;

/** A provider's own counters; which of them include which is said by `LEAVES_OUT`. */
interface Counters {
  input: unknown;
  output: unknown;
  total?: unknown;
  cacheRead?: unknown;
  cacheWrite?: unknown;
  cacheWrite1h?: unknown;
  reasoning?: unknown;
  toolPrompt?: unknown;
  /** Tokens by modality: a list, or an object with `text_tokens` and the like. */
  inputDetails?: unknown;
  outputDetails?: unknown;
}

/** Whose usage object it is. */
export type UsageKind = 'openai' | 'anthropic' | 'converse' | 'metrics' | 'gemini' | 'live' | 'interactions';

const COUNTERS: Readonly<Record<UsageKind, (u: Obj) => Counters>> = {
  openai(u) {
    const inputDetails = obj(u.prompt_tokens_details ?? u.input_tokens_details ?? u.input_token_details);
    const outputDetails = obj(
      u.completion_tokens_details ?? u.output_tokens_details ?? u.output_token_details,
    );
    return {
      input: u.prompt_tokens ?? u.input_tokens,
      output: u.completion_tokens ?? u.output_tokens,
      total: u.total_tokens,
      cacheRead:
        inputDetails.cached_tokens ?? u.num_cached_tokens ?? u.cached_tokens ?? u.prompt_cache_hit_tokens,
      cacheWrite: inputDetails.cache_write_tokens,
      reasoning: outputDetails.reasoning_tokens,
      inputDetails,
      outputDetails,
    };
  },
  anthropic: (u) => ({
    input: u.input_tokens,
    output: u.output_tokens,
    cacheRead: u.cache_read_input_tokens,
    cacheWrite: u.cache_creation_input_tokens,
    cacheWrite1h: obj(u.cache_creation).ephemeral_1h_input_tokens,
    reasoning: obj(u.output_tokens_details).thinking_tokens,
  }),
  converse: (u) => ({
    input: u.inputTokens,
    output: u.outputTokens,
    total: u.totalTokens,
    cacheRead: u.cacheReadInputTokens ?? u.cacheReadInputTokenCount,
    cacheWrite: u.cacheWriteInputTokens ?? u.cacheWriteInputTokenCount,
    cacheWrite1h: obj(list(u.cacheDetails).find((entry) => obj(entry).ttl === '1h')).inputTokens,
  }),
  metrics: (u) => ({
    input: u.inputTokenCount,
    output: u.outputTokenCount,
    cacheRead: u.cacheReadInputTokenCount,
    cacheWrite: u.cacheWriteInputTokenCount,
  }),
  gemini: geminiCounters,
  live: geminiCounters,
  interactions: (u) => ({
    input: u.total_input_tokens,
    output: u.total_output_tokens,
    total: u.total_tokens,
    cacheRead: u.total_cached_tokens,
    reasoning: u.total_thought_tokens,
    toolPrompt: u.total_tool_use_tokens,
    inputDetails: u.input_tokens_by_modality,
    outputDetails: u.output_tokens_by_modality,
  }),
};

function geminiCounters(u: Obj): Counters {
  return {
    input: u.promptTokenCount,
    output: u.candidatesTokenCount ?? u.responseTokenCount,
    total: u.totalTokenCount,
    cacheRead: u.cachedContentTokenCount,
    reasoning: u.thoughtsTokenCount,
    toolPrompt: u.toolUsePromptTokenCount,
    inputDetails: u.promptTokensDetails,
    outputDetails: u.candidatesTokensDetails ?? u.responseTokensDetails,
  };
}

/** What input or output leave out: the cache's part, or the reasoning. */
const LEAVES_OUT: Readonly<Partial<Record<UsageKind, 'cache' | 'reasoning'>>> = {
  anthropic: 'cache',
  converse: 'cache',
  metrics: 'cache',
  gemini: 'reasoning',
  live: 'reasoning',
  interactions: 'reasoning',
};

/** A token count: a finite number of zero or more, null when absent or nonsense. */
function count(value: unknown, warnings: Warning[]): Count {
  if (value == null) return null;
  if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  warn(warnings, 'non_finite_number', String(typeof value === 'number' ? value : typeof value));
  return null;
}

function plus(a: Count, b: Count): Count {
  return a === null ? b : b === null ? a : a + b;
}

function minus(a: Count, b: Count): Count {
  return a === null || b === null ? a : a < b ? null : a - b;
}

function byModality(details: unknown, warnings: Warning[]): Record<string, number> {
  const sums: Record<string, number> = {};
  const add = (name: string, value: unknown): void => {
    const tokens = count(value, warnings);
    if (tokens && name !== '__proto__') sums[name] = (sums[name] ?? 0) + tokens;
  };
  for (const entry of list(details)) {
    const { modality, tokenCount, tokens } = obj(entry);
    add(str(modality).toLowerCase(), tokenCount ?? tokens);
  }
  const { text_tokens, image_tokens, audio_tokens } = obj(details);
  add('text', text_tokens);
  add('image', image_tokens);
  add('audio', audio_tokens);
  return sums;
}

function modalityOf(c: Counters, warnings: Warning[]): Modality {
  return { input: byModality(c.inputDetails, warnings), output: byModality(c.outputDetails, warnings) };
}

/** Reads a usage object; null when it states no count at all. */
export function readUsage(
  kind: UsageKind,
  raw: Obj,
  warnings: Warning[],
  source: Usage['source'] = 'body',
): Usage | null {
  const c = COUNTERS[kind](raw);
  const left = LEAVES_OUT[kind];
  const reported = {
    input: count(c.input, warnings),
    output: count(c.output, warnings),
    total: count(c.total, warnings),
  };
  const cacheRead = count(c.cacheRead, warnings);
  const cacheWrite = count(c.cacheWrite, warnings);
  const reasoning = count(c.reasoning, warnings);
  const stated = reported.total;
  let input = plus(reported.input, count(c.toolPrompt, warnings));
  let output = reported.output;
  if (left === 'reasoning') {
    // Gemini leaves out a counter that is zero.
    output = plus(output, reasoning) ?? (input === null ? null : 0);
    input ??= minus(stated, output);
  } else if (left === 'cache') {
    if (input !== null) input = plus(plus(input, cacheRead), cacheWrite);
  } else if (reasoning && output !== null && stated === (input ?? 0) + output + reasoning) {
    // xAI: only the total shows it.
    output += reasoning;
    warn(warnings, 'usage_reasoning_outside_output', String(reasoning));
  }
  if (input === null && output === null && stated === null) return null;
  const sum = input === null || output === null ? null : input + output;
  // Live leaves thoughts out of its total.
  if (stated !== null && sum !== null && stated !== sum && kind !== 'live') {
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
  const hour = count(c.cacheWrite1h, warnings);
  if (hour !== null) usage.cacheWrite1h = hour;
  if (c.inputDetails || c.outputDetails) usage.modality = modalityOf(c, warnings);
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
  const anthropic =
    usage.cache_read_input_tokens ??
    usage.cache_creation_input_tokens ??
    /anthropic|claude|bedrock/i.test(provider);
  const gemini = usage.responseTokenCount === undefined ? 'gemini' : 'live';
  const openai = anthropic === false || usage.prompt_tokens !== undefined ? 'openai' : 'anthropic';
  for (const kind of [gemini, 'converse', 'metrics', 'interactions', openai] as const) {
    const { input, output } = COUNTERS[kind](usage);
    if (input !== undefined || output !== undefined) return readUsage(kind, usage, []);
  }
  return null;
}
