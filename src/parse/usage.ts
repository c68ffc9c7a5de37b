import { list, type Obj, obj } from './json.ts';
import type { Modality, Usage, Warning } from './record.ts';
import { warn } from './warn.ts';

type Count = number | null;

/** A token count: a finite number of zero or more, null when absent or nonsense. */
export function count(value: unknown, warnings: Warning[]): Count {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  warn(warnings, 'non_finite_number', `a token count is ${typeof value === 'number' ? value : typeof value}`);
  return null;
}

function plus(a: Count, b: Count): Count {
  return a === null ? b : b === null ? a : a + b;
}

function minus(a: Count, b: Count): Count {
  if (a === null || b === null) return a;
  return a >= b ? a - b : null;
}

interface Counts {
  input: Count;
  cacheRead: Count;
  cacheWrite: Count;
  output: Count;
  reasoning: Count;
  total: Count;
  reportedInput: Count;
  reportedOutput: Count;
}

function usage(c: Counts, source: Usage['source']): Usage | null {
  if (c.input === null && c.output === null && c.total === null) return null;
  return {
    input: c.input,
    inputUncached: minus(minus(c.input, c.cacheRead), c.cacheWrite),
    cacheRead: c.cacheRead,
    cacheWrite: c.cacheWrite,
    output: c.output,
    outputText: minus(c.output, c.reasoning),
    reasoning: c.reasoning,
    total: c.total ?? (c.input === null || c.output === null ? null : c.input + c.output),
    reported: { input: c.reportedInput, output: c.reportedOutput, total: c.total },
    source,
  };
}

function checkTotal(u: Usage | null, warnings: Warning[]): Usage | null {
  if (u !== null && u.input !== null && u.output !== null && u.total !== u.input + u.output) {
    warn(warnings, 'usage_total_mismatch', `total ${u.total}, but input ${u.input} + output ${u.output}`);
  }
  return u;
}

const MODALITIES = ['text', 'image', 'audio'] as const;

function openAiModality(input: Obj, output: Obj, warnings: Warning[]): Modality | undefined {
  let modality: Modality | undefined;
  for (const name of MODALITIES) {
    const key = `${name}_tokens`;
    if (!input[key] && !output[key]) continue;
    modality ??= { input: {}, output: {} };
    const taken = count(input[key], warnings);
    const given = count(output[key], warnings);
    if (taken !== null) modality.input[name] = taken;
    if (given !== null) modality.output[name] = given;
  }
  return modality;
}

/** Usage of OpenAI chat, completions, Responses and their relatives: totals are inclusive already. */
export function openAiUsage(raw: Obj, warnings: Warning[]): Usage | null {
  const details = obj(raw.prompt_tokens_details ?? raw.input_tokens_details ?? raw.input_token_details);
  const given = obj(raw.completion_tokens_details ?? raw.output_tokens_details ?? raw.output_token_details);
  const input = count(raw.prompt_tokens ?? raw.input_tokens, warnings);
  const completion = count(raw.completion_tokens ?? raw.output_tokens, warnings);
  const reasoning = count(given.reasoning_tokens, warnings);
  const total = count(raw.total_tokens, warnings);
  let output = completion;
  // xAI counts reasoning beside the completion, and only the total shows it.
  if (reasoning && completion !== null && total !== null && total === (input ?? 0) + completion + reasoning) {
    output = completion + reasoning;
    warn(
      warnings,
      'usage_reasoning_outside_output',
      'reasoning tokens were counted beside the completion tokens',
    );
  }
  const result = usage(
    {
      input,
      cacheRead: count(
        details.cached_tokens ?? raw.num_cached_tokens ?? raw.cached_tokens ?? raw.prompt_cache_hit_tokens,
        warnings,
      ),
      cacheWrite: count(details.cache_write_tokens, warnings),
      output,
      reasoning,
      total,
      reportedInput: input,
      reportedOutput: completion,
    },
    'body',
  );
  if (result !== null) {
    const modality = openAiModality(details, given, warnings);
    if (modality !== undefined) result.modality = modality;
  }
  return checkTotal(result, warnings);
}

/** Usage of Anthropic Messages: input excludes what the cache read and wrote. */
export function anthropicUsage(raw: Obj, warnings: Warning[]): Usage | null {
  const uncached = count(raw.input_tokens, warnings);
  const cacheRead = count(raw.cache_read_input_tokens, warnings);
  const cacheWrite = count(raw.cache_creation_input_tokens, warnings);
  const output = count(raw.output_tokens, warnings);
  const result = usage(
    {
      input: uncached === null ? null : plus(plus(uncached, cacheRead), cacheWrite),
      cacheRead,
      cacheWrite,
      output,
      reasoning: count(obj(raw.output_tokens_details).thinking_tokens, warnings),
      total: null,
      reportedInput: uncached,
      reportedOutput: output,
    },
    'body',
  );
  if (result !== null) {
    const hour = count(obj(raw.cache_creation).ephemeral_1h_input_tokens, warnings);
    if (hour !== null) result.cacheWrite1h = hour;
    if (raw.server_tool_use) result.serverTools = raw.server_tool_use;
    if (Array.isArray(raw.iterations)) result.iterations = raw.iterations;
  }
  return result;
}

function exclusive(
  input: unknown,
  output: unknown,
  read: unknown,
  write: unknown,
  source: Usage['source'],
  w: Warning[],
) {
  const uncached = count(input, w);
  const cacheRead = count(read, w);
  const cacheWrite = count(write, w);
  const reportedOutput = count(output, w);
  return usage(
    {
      input: uncached === null ? null : plus(plus(uncached, cacheRead), cacheWrite),
      cacheRead,
      cacheWrite,
      output: reportedOutput,
      reasoning: null,
      total: null,
      reportedInput: uncached,
      reportedOutput,
    },
    source,
  );
}

/** Usage of Bedrock Converse and Nova: input excludes what the cache read and wrote. */
export function converseUsage(raw: Obj, warnings: Warning[]): Usage | null {
  const result = exclusive(
    raw.inputTokens,
    raw.outputTokens,
    raw.cacheReadInputTokens ?? raw.cacheReadInputTokenCount,
    raw.cacheWriteInputTokens ?? raw.cacheWriteInputTokenCount,
    'body',
    warnings,
  );
  if (result === null) return null;
  const total = count(raw.totalTokens, warnings);
  if (total !== null) {
    result.total = total;
    result.reported.total = total;
  }
  for (const entry of list(raw.cacheDetails)) {
    const detail = obj(entry);
    const tokens = detail.ttl === '1h' ? count(detail.inputTokens, warnings) : null;
    if (tokens !== null) result.cacheWrite1h = (result.cacheWrite1h ?? 0) + tokens;
  }
  if (raw.serverToolUsage) result.serverTools = raw.serverToolUsage;
  return checkTotal(result, warnings);
}

/** Usage of a Bedrock InvokeModel stream, from the metrics on its last chunk. */
export function metricsUsage(raw: Obj, warnings: Warning[]): Usage | null {
  return exclusive(
    raw.inputTokenCount,
    raw.outputTokenCount,
    raw.cacheReadInputTokenCount,
    raw.cacheWriteInputTokenCount,
    'invocation_metrics',
    warnings,
  );
}

/** Usage of a Bedrock InvokeModel response, from its HTTP headers. */
export function headerUsage(header: (name: string) => string | null, warnings: Warning[]): Usage | null {
  const named = (what: string) => header(`x-amzn-bedrock-${what}-token-count`);
  return exclusive(
    named('input'),
    named('output'),
    named('cache-read-input'),
    named('cache-write-input'),
    'headers',
    warnings,
  );
}

/** Usage of a plain pair of counters, such as Llama's. */
export function pairUsage(input: unknown, output: unknown, warnings: Warning[]): Usage | null {
  return exclusive(input, output, null, null, 'body', warnings);
}

function sumByModality(
  entries: unknown,
  into: Record<string, number>,
  name: string,
  warnings: Warning[],
): void {
  for (const entry of list(entries)) {
    const detail = obj(entry);
    const tokens = count(detail[name], warnings);
    if (tokens === null || typeof detail.modality !== 'string') continue;
    const key = detail.modality.toLowerCase();
    if (key !== '__proto__') into[key] = (into[key] ?? 0) + tokens;
  }
}

/**
 * Usage of Gemini's and ADK's `usageMetadata`, generateContent or Live: thoughts and tool-use prompts are beside the
 * counts of candidates and prompt, and a counter of zero may be left out.
 */
export function geminiUsage(raw: Obj, warnings: Warning[]): Usage | null {
  const prompt = count(raw.promptTokenCount, warnings);
  const answer = count(raw.candidatesTokenCount ?? raw.responseTokenCount, warnings);
  const thoughts = count(raw.thoughtsTokenCount, warnings);
  const toolPrompt = count(raw.toolUsePromptTokenCount, warnings);
  const total = count(raw.totalTokenCount, warnings);
  const output = plus(answer, thoughts) ?? (prompt === null ? null : 0);
  const result = usage(
    {
      input: plus(prompt, toolPrompt) ?? minus(total, output),
      cacheRead: count(raw.cachedContentTokenCount, warnings),
      cacheWrite: null,
      output,
      reasoning: thoughts,
      total,
      reportedInput: prompt,
      reportedOutput: answer,
    },
    'body',
  );
  if (result === null) return null;
  if (
    raw.promptTokensDetails !== undefined ||
    raw.candidatesTokensDetails !== undefined ||
    raw.responseTokensDetails
  ) {
    const modality: Modality = { input: {}, output: {} };
    sumByModality(raw.promptTokensDetails, modality.input, 'tokenCount', warnings);
    sumByModality(raw.toolUsePromptTokensDetails, modality.input, 'tokenCount', warnings);
    sumByModality(
      raw.candidatesTokensDetails ?? raw.responseTokensDetails,
      modality.output,
      'tokenCount',
      warnings,
    );
    result.modality = modality;
  }
  // Live leaves thoughts out of its total.
  return raw.responseTokenCount === undefined ? checkTotal(result, warnings) : result;
}

/** Usage of Gemini Interactions. */
export function interactionsUsage(raw: Obj, warnings: Warning[]): Usage | null {
  const input = count(raw.total_input_tokens, warnings);
  const answer = count(raw.total_output_tokens, warnings);
  const thoughts = count(raw.total_thought_tokens, warnings);
  const result = usage(
    {
      input: plus(input, count(raw.total_tool_use_tokens, warnings)),
      cacheRead: count(raw.total_cached_tokens, warnings),
      cacheWrite: null,
      output: plus(answer, thoughts),
      reasoning: thoughts,
      total: count(raw.total_tokens, warnings),
      reportedInput: input,
      reportedOutput: answer,
    },
    'body',
  );
  if (result === null) return null;
  if (raw.input_tokens_by_modality !== undefined || raw.output_tokens_by_modality !== undefined) {
    const modality: Modality = { input: {}, output: {} };
    sumByModality(raw.input_tokens_by_modality, modality.input, 'tokens', warnings);
    sumByModality(raw.tool_use_tokens_by_modality, modality.input, 'tokens', warnings);
    sumByModality(raw.output_tokens_by_modality, modality.output, 'tokens', warnings);
    result.modality = modality;
  }
  return checkTotal(result, warnings);
}

/** The usage behind a raw usage object of any provider; the name only tells Anthropic and OpenAI Responses apart. */
export function usageOf(provider: string, raw: unknown): Usage | null {
  const u = obj(raw);
  const warnings: Warning[] = [];
  if (
    u.promptTokenCount !== undefined ||
    u.totalTokenCount !== undefined ||
    u.candidatesTokenCount !== undefined
  ) {
    return geminiUsage(u, warnings);
  }
  if (u.responseTokenCount !== undefined) return geminiUsage(u, warnings);
  if (u.inputTokens !== undefined) return converseUsage(u, warnings);
  if (u.inputTokenCount !== undefined) return metricsUsage(u, warnings);
  if (u.total_input_tokens !== undefined) return interactionsUsage(u, warnings);
  const anthropic =
    u.cache_read_input_tokens !== undefined ||
    u.cache_creation_input_tokens !== undefined ||
    (/anthropic|claude|bedrock/i.test(provider) && u.prompt_tokens === undefined);
  return anthropic ? anthropicUsage(u, warnings) : openAiUsage(u, warnings);
}
