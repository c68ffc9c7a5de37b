import { type Obj, obj, objects, str } from './json.ts';
import type { Usage, Warning } from './record.ts';
import { warn } from './warn.ts';

type Count = number | null;

/**
 * A provider's own counters: input, output, total, cache read, cache write, reasoning, tool-use prompt, cache write
 * for an hour; then the input and the output by modality, as a list or as an object with `text_tokens` and the like.
 */
type Counters = readonly unknown[];

/** Whose usage object it is. */
export type UsageKind = 'openai' | 'anthropic' | 'converse' | 'metrics' | 'gemini' | 'interactions';

const COUNTERS: Readonly<Record<UsageKind, (u: Obj) => Counters>> = {
  openai(u) {
    const input = obj(u.prompt_tokens_details ?? u.input_tokens_details ?? u.input_token_details);
    const output = obj(u.completion_tokens_details ?? u.output_tokens_details ?? u.output_token_details);
    return [
      u.prompt_tokens ?? u.input_tokens,
      u.completion_tokens ?? u.output_tokens,
      u.total_tokens,
      input.cached_tokens ?? u.num_cached_tokens ?? u.cached_tokens ?? u.prompt_cache_hit_tokens,
      input.cache_write_tokens,
      output.reasoning_tokens,
      null,
      null,
      input,
      output,
    ];
  },
  anthropic: (u) => [
    u.input_tokens,
    u.output_tokens,
    null,
    u.cache_read_input_tokens,
    u.cache_creation_input_tokens,
    obj(u.output_tokens_details).thinking_tokens,
    null,
    obj(u.cache_creation).ephemeral_1h_input_tokens,
  ],
  converse: (u) => [
    u.inputTokens,
    u.outputTokens,
    u.totalTokens,
    u.cacheReadInputTokens ?? u.cacheReadInputTokenCount,
    u.cacheWriteInputTokens ?? u.cacheWriteInputTokenCount,
    null,
    null,
    u.cacheDetails && objects(u.cacheDetails).find((entry) => entry.ttl === '1h')?.inputTokens,
  ],
  metrics: (u) => [
    u.inputTokenCount,
    u.outputTokenCount,
    null,
    u.cacheReadInputTokenCount,
    u.cacheWriteInputTokenCount,
  ],
  gemini: (u) => [
    u.promptTokenCount,
    u.candidatesTokenCount ?? u.responseTokenCount,
    u.totalTokenCount,
    u.cachedContentTokenCount,
    null,
    u.thoughtsTokenCount,
    u.toolUsePromptTokenCount,
    null,
    u.promptTokensDetails,
    u.candidatesTokensDetails ?? u.responseTokensDetails,
  ],
  interactions: (u) => [
    u.total_input_tokens,
    u.total_output_tokens,
    u.total_tokens,
    u.total_cached_tokens,
    null,
    u.total_thought_tokens,
    u.total_tool_use_tokens,
    null,
    u.input_tokens_by_modality,
    u.output_tokens_by_modality,
  ],
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

function addTokens(sums: Record<string, number>, name: string, value: unknown, warnings: Warning[]): void {
  const tokens = count(value, warnings);
  if (tokens && name !== '__proto__') sums[name] = (sums[name] ?? 0) + tokens;
}

function byModality(details: unknown, warnings: Warning[]): Record<string, number> {
  const sums: Record<string, number> = {};
  if (Array.isArray(details)) {
    for (const entry of objects(details)) {
      addTokens(sums, str(entry.modality).toLowerCase(), entry.tokenCount ?? entry.tokens, warnings);
    }
  } else {
    const { text_tokens, image_tokens, audio_tokens } = obj(details);
    addTokens(sums, 'text', text_tokens, warnings);
    addTokens(sums, 'image', image_tokens, warnings);
    addTokens(sums, 'audio', audio_tokens, warnings);
  }
  return sums;
}

/** Reads a usage object; null when it states no count at all. */
export function readUsage(
  kind: UsageKind,
  raw: Obj,
  warnings: Warning[],
  source: Usage['source'] = 'body',
): Usage | null {
  const c = COUNTERS[kind](raw);
  const reportedInput = count(c[0], warnings);
  const reportedOutput = count(c[1], warnings);
  const stated = count(c[2], warnings);
  const cacheRead = count(c[3], warnings);
  const cacheWrite = count(c[4], warnings);
  const reasoning = count(c[5], warnings);
  const hour = count(c[7], warnings);
  let input = plus(reportedInput, count(c[6], warnings));
  let output = reportedOutput;
  if (kind === 'gemini' || kind === 'interactions') {
    // Thoughts are beside the output, and a counter of zero may be left out.
    output = plus(output, reasoning) ?? (input === null ? null : 0);
    input ??= minus(stated, output);
  } else if (kind !== 'openai') {
    // What the cache read and wrote is beside the input.
    if (input !== null) input = plus(plus(input, cacheRead), cacheWrite);
  } else if (reasoning && stated === (input ?? 0) + (output ?? 0) + reasoning) {
    // xAI counts reasoning beside the output; only the total shows it.
    output = plus(output, reasoning);
    warn(warnings, 'usage_reasoning_outside_output', String(reasoning));
  }
  if (input === null && output === null && stated === null) return null;
  const sum = input === null || output === null ? null : input + output;
  // Live leaves thoughts out of its total.
  if (stated !== null && sum !== null && stated !== sum && !raw.responseTokenCount) {
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
    reported: { input: reportedInput, output: reportedOutput, total: stated },
    source,
  };
  const serverTools = raw.server_tool_use ?? raw.serverToolUsage;
  if (hour !== null) usage.cacheWrite1h = hour;
  if (c[8] || c[9])
    usage.modality = { input: byModality(c[8], warnings), output: byModality(c[9], warnings) };
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
  const anthropic = cached !== undefined || /anthropic|claude|bedrock/i.test(provider);
  const last = anthropic && usage.prompt_tokens === undefined ? 'anthropic' : 'openai';
  for (const kind of ['gemini', 'converse', 'metrics', 'interactions', last] as const) {
    const [input, output] = COUNTERS[kind](usage);
    if ((input ?? output) !== undefined) return readUsage(kind, usage, []);
  }
  return null;
}
