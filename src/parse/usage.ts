import { list, type Obj, obj, objects, str } from './json.ts';
import type { Usage, Warning } from './record.ts';
import { warn } from './warn.ts';

type Count = number | null;

/** A token count: a finite number of zero or more, null when absent or nonsense. */
function count(value: unknown, warnings: Warning[]): Count {
  if (value == null) return null;
  // Headers are text.
  const tokens = typeof value === 'string' && value ? Number(value) : value;
  if (typeof tokens === 'number' && tokens >= 0 && tokens <= Number.MAX_SAFE_INTEGER) return tokens;
  warn(warnings, 'non_finite_number', typeof value);
  return null;
}

function plus(a: Count, b: Count): Count {
  return a === null ? b : a + (b ?? 0);
}

/** What is left of a number; null when that cannot be. */
function minus(a: Count, b: Count): Count {
  return a === null || a < (b ?? 0) ? null : a - (b ?? 0);
}

function addTokens(sums: Record<string, number>, name: string, value: unknown, warnings: Warning[]): void {
  const tokens = count(value, warnings);
  if (tokens && name !== '__proto__') sums[name] = (sums[name] ?? 0) + tokens;
}

function byModality(details: unknown, warnings: Warning[]): Record<string, number> {
  const sums: Record<string, number> = {};
  const { text_tokens, image_tokens, audio_tokens } = obj(details);
  addTokens(sums, 'text', text_tokens, warnings);
  addTokens(sums, 'image', image_tokens, warnings);
  addTokens(sums, 'audio', audio_tokens, warnings);
  for (const entry of objects(details))
    addTokens(sums, str(entry.modality).toLowerCase(), entry.tokenCount ?? entry.tokens, warnings);
  return sums;
}

/**
 * Input, output, total; cache read, written, written for an hour; cached input, details of input and output; thoughts,
 * tool-use prompts.
 */
type Counters = readonly unknown[];

/** Each dialect is asked for its own names only: asking objects of many shapes for what they lack is slow. */
function countersOf(u: Obj): Counters {
  if ((u.totalTokenCount ?? u.promptTokenCount) != null)
    return [
      u.promptTokenCount,
      u.candidatesTokenCount ?? u.responseTokenCount,
      u.totalTokenCount,
      null,
      null,
      null,
      u.cachedContentTokenCount,
      u.promptTokensDetails,
      u.candidatesTokensDetails ?? u.responseTokensDetails,
      u.thoughtsTokenCount,
      u.toolUsePromptTokenCount,
    ];
  if ((u.inputTokens ?? u.inputTokenCount ?? u.outputTokens ?? u.outputTokenCount) != null)
    return [
      u.inputTokens ?? u.inputTokenCount,
      u.outputTokens ?? u.outputTokenCount,
      u.totalTokens,
      u.cacheReadInputTokens ?? u.cacheReadInputTokenCount,
      u.cacheWriteInputTokens ?? u.cacheWriteInputTokenCount,
      objects(u.cacheDetails).find((entry) => entry.ttl === '1h')?.inputTokens,
    ];
  if ((u.total_input_tokens ?? u.total_output_tokens) != null)
    return [
      u.total_input_tokens,
      u.total_output_tokens,
      u.total_tokens,
      null,
      null,
      null,
      u.total_cached_tokens,
      u.input_tokens_by_modality,
      u.output_tokens_by_modality,
      u.total_thought_tokens,
      u.total_tool_use_tokens,
    ];
  return [
    u.prompt_tokens ?? u.input_tokens ?? u.prompt_token_count ?? u.inputTextTokenCount,
    u.completion_tokens ??
      u.output_tokens ??
      u.generation_token_count ??
      u.totalOutputTextTokenCount ??
      obj(list(u.results)[0]).tokenCount,
    u.total_tokens,
    u.cache_read_input_tokens,
    u.cache_creation_input_tokens,
    obj(u.cache_creation).ephemeral_1h_input_tokens,
    u.num_cached_tokens ?? u.cached_tokens ?? u.prompt_cache_hit_tokens,
    u.prompt_tokens_details ?? u.input_tokens_details ?? u.input_token_details,
    u.completion_tokens_details ?? u.output_tokens_details ?? u.output_token_details,
  ];
}

/**
 * Reads a usage object of any provider; null when it states no count at all. No name has two meanings: what a count
 * includes is told by the names beside it.
 */
export function readUsage(u: Obj, warnings: Warning[], source: Usage['source'] = 'body'): Usage | null {
  const given = countersOf(u);
  const inputDetails = given[7];
  const outputDetails = given[8];
  const { cached_tokens, cache_write_tokens } = obj(inputDetails);
  const { reasoning_tokens, thinking_tokens } = obj(outputDetails);
  const total = count(given[2], warnings);
  const reported = { input: count(given[0], warnings), output: count(given[1], warnings), total };
  const read = count(given[3], warnings);
  const write = count(given[4], warnings);
  const hour = count(given[5], warnings);
  const cacheRead = count(cached_tokens ?? given[6], warnings) ?? read;
  const cacheWrite = count(cache_write_tokens, warnings) ?? write;
  const thoughts = count(given[9], warnings);
  const reasoning = thoughts ?? count(reasoning_tokens ?? thinking_tokens, warnings);
  // Tool-use prompts are beside the input; so is the cache by these names, unless the input is called a prompt.
  let input = plus(reported.input, count(given[10], warnings));
  if (input !== null && u.prompt_tokens == null) input = plus(plus(input, read), write);
  let output = plus(reported.output, thoughts);
  if (total !== null) {
    // Google, which alone has counts of thoughts and tool use, leaves out a counter of zero.
    if (given.length > 9) {
      if (input !== null) output ??= minus(total, input);
      else if (output !== null) input = minus(total, output);
    }
    if (reasoning && thoughts === null && total === (input ?? 0) + (output ?? 0) + reasoning) {
      // xAI counts reasoning beside the output; only the total shows it.
      output = plus(output, reasoning);
      warn(warnings, 'usage_reasoning_outside_output', reasoning);
    }
  } else if (input === null && output === null) return null;
  const sum = input === null || output === null ? null : input + output;
  // Live leaves thoughts out of its total.
  if (total !== null && sum !== null && total !== sum && !u.responseTokenCount)
    warn(warnings, 'usage_total_mismatch', total);
  const usage: Usage = {
    input,
    inputUncached: minus(minus(input, cacheRead), cacheWrite),
    cacheRead,
    cacheWrite,
    output,
    outputText: minus(output, reasoning),
    reasoning,
    total: total ?? sum,
    reported,
    source,
  };
  const serverTools = u.server_tool_use ?? u.serverToolUsage;
  if (hour !== null) usage.cacheWrite1h = hour;
  if (inputDetails ?? outputDetails)
    usage.modality = {
      input: byModality(inputDetails, warnings),
      output: byModality(outputDetails, warnings),
    };
  if (serverTools) usage.serverTools = serverTools;
  if (Array.isArray(u.iterations)) usage.iterations = u.iterations;
  return usage;
}

/** The usage behind a raw usage object of any provider. */
export function usageOf(raw: unknown): Usage | null {
  return readUsage(obj(raw), []);
}
