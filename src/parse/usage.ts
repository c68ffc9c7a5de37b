import { list, type Obj, obj, objects, str } from './json.ts';
import type { Usage, Warning } from './record.ts';
import { warn } from './warn.ts';

type Count = number | null;

/** A token count: a finite number of zero or more, null when absent or nonsense. */
function count(value: unknown, warnings: Warning[]): Count {
  if (value == null) return null;
  if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  warn(warnings, 'non_finite_number', typeof value === 'number' ? value : typeof value);
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
 * Reads a usage object of any provider; null when it states no count at all. No name has two meanings: what a count
 * includes is told by the names beside it.
 */
export function readUsage(u: Obj, warnings: Warning[], source: Usage['source'] = 'body'): Usage | null {
  const inputDetails =
    u.prompt_tokens_details ??
    u.input_tokens_details ??
    u.input_token_details ??
    u.promptTokensDetails ??
    u.input_tokens_by_modality;
  const outputDetails =
    u.completion_tokens_details ??
    u.output_tokens_details ??
    u.output_token_details ??
    u.candidatesTokensDetails ??
    u.responseTokensDetails ??
    u.output_tokens_by_modality;
  const { cached_tokens, cache_write_tokens } = obj(inputDetails);
  const { reasoning_tokens, thinking_tokens } = obj(outputDetails);
  const reported = {
    input: count(
      u.prompt_tokens ??
        u.input_tokens ??
        u.inputTokens ??
        u.promptTokenCount ??
        u.total_input_tokens ??
        u.inputTokenCount ??
        u.prompt_token_count ??
        u.inputTextTokenCount,
      warnings,
    ),
    output: count(
      u.completion_tokens ??
        u.output_tokens ??
        u.outputTokens ??
        u.candidatesTokenCount ??
        u.responseTokenCount ??
        u.total_output_tokens ??
        u.outputTokenCount ??
        u.generation_token_count ??
        u.totalOutputTextTokenCount ??
        obj(list(u.results)[0]).tokenCount,
      warnings,
    ),
    total: count(u.total_tokens ?? u.totalTokens ?? u.totalTokenCount, warnings),
  };
  const { total } = reported;
  const read = count(
    u.cache_read_input_tokens ?? u.cacheReadInputTokens ?? u.cacheReadInputTokenCount,
    warnings,
  );
  const write = count(
    u.cache_creation_input_tokens ?? u.cacheWriteInputTokens ?? u.cacheWriteInputTokenCount,
    warnings,
  );
  const cacheRead =
    count(
      cached_tokens ??
        u.num_cached_tokens ??
        u.cached_tokens ??
        u.prompt_cache_hit_tokens ??
        u.cachedContentTokenCount ??
        u.total_cached_tokens,
      warnings,
    ) ?? read;
  const cacheWrite = count(cache_write_tokens, warnings) ?? write;
  const thoughts = count(u.thoughtsTokenCount ?? u.total_thought_tokens, warnings);
  const reasoning = thoughts ?? count(reasoning_tokens ?? thinking_tokens, warnings);
  // Tool-use prompts are beside the input; so is the cache by these names, unless the input is called a prompt.
  let input = plus(reported.input, count(u.toolUsePromptTokenCount ?? u.total_tool_use_tokens, warnings));
  if (input !== null && u.prompt_tokens == null) input = plus(plus(input, read), write);
  let output = plus(reported.output, thoughts);
  if (total !== null) {
    // A counter of zero may be left out.
    if (input !== null) output ??= minus(total, input);
    else if (output !== null) input = minus(total, output);
    if (reasoning && thoughts === null && total === (input ?? 0) + (output ?? 0) + reasoning) {
      // xAI counts reasoning beside the output; only the total shows it.
      output = plus(output, reasoning);
      warn(warnings, 'usage_reasoning_outside_output', reasoning);
    }
  } else if (input === null && output === null) return null;
  const sum = input === null || output === null ? null : input + output;
  // Live leaves thoughts out of its total.
  if (total !== null && sum !== null && total !== sum && !u.responseTokenCount) {
    warn(warnings, 'usage_total_mismatch', total);
  }
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
  const hour = count(
    obj(u.cache_creation).ephemeral_1h_input_tokens ??
      (u.cacheDetails && objects(u.cacheDetails).find((entry) => entry.ttl === '1h')?.inputTokens),
    warnings,
  );
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
export function usageOf(_provider: string, raw: unknown): Usage | null {
  return readUsage(obj(raw), []);
}
