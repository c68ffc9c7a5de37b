import { list, memo, type Obj, obj, objects, str, strOrNull } from './json.ts';
import { fromPython } from './python-dump.ts';
import { type Modality, type ResponseFacts, type Usage, warn } from './reading.ts';

type Count = number | null;

/** Normalises the name of a modality: `TEXT`, `text` and `text_tokens` become `text`. */
const modalityOf = /* @__PURE__ */ memo((name) => name.replace('_tokens', '').toLowerCase());

/** The fields of a record, other than `usage`, that {@link readUsage} changes. */
type Counted = Pick<ResponseFacts, 'serviceTier' | 'warnings'>;

/** Returns a token count: a number from 0 to `Number.MAX_SAFE_INTEGER`, or a text with such a number. Every other value gives null. */
function count(value: unknown): Count {
  // The values of headers are texts.
  const tokens = typeof value === 'string' && value ? Number(value) : value;
  return typeof tokens === 'number' && tokens >= 0 && tokens <= Number.MAX_SAFE_INTEGER ? tokens : null;
}

function plus(a: Count, b: Count): Count {
  return a === null ? b : a + (b ?? 0);
}

/** Subtracts `b`, or 0 when `b` is null. Returns null when `a` is null, or the result would be negative. */
function minus(a: Count, b: Count): Count {
  return a === null || a < (b ?? 0) ? null : a - (b ?? 0);
}

function addTokens(sums: Record<string, number>, name: string, tokens: Count): void {
  const key = modalityOf(name);
  if (tokens && key !== '__proto__') sums[key] = (sums[key] ?? 0) + tokens;
}

/**
 * Reads a usage object of any provider. The names of the counts show what the counts include, because no two providers use one name
 * with different meanings.
 *
 * @param u The usage object, or a body that has the counts as fields.
 * @returns The usage; null when the object states no count.
 */
export function readUsage(u: Obj, record: Counted, source: Usage['source'] = 'body'): Usage | null {
  const { warnings } = record;
  /**
   * The objects to read: `u`, then objects inside it, which the loop below adds. They are the details of the input, of the output and of
   * the cache, and Cohere's object with the counts.
   */
  const levels: unknown[] = [u, null, null, null];
  const modality: Modality = { input: {}, output: {} };
  let prompt: Count = null;
  let given: Count = null;
  let completion: Count = null;
  let made: Count = null;
  let total: Count = null;
  let read: Count = null;
  let write: Count = null;
  let hour: Count = null;
  let cached: Count = null;
  let written: Count = null;
  let reasoning: Count = null;
  let thoughts: Count = null;
  let toolPrompt: Count = null;
  let serverTools: unknown;
  let iterations: unknown;
  let billed: unknown;
  for (const level of levels) {
    if (!level) continue;
    if (level === levels[3]) modality.cacheRead = {};
    const sums =
      level === levels[1]
        ? modality.input
        : level === levels[3]
          ? (modality.cacheRead ?? {})
          : modality.output;
    if (Array.isArray(level))
      for (const entry of objects(level))
        addTokens(sums, str(entry.modality), count(entry.tokenCount ?? entry.tokens));
    const counts = obj(level);
    for (const name in counts) {
      const value = counts[name];
      if (value == null) continue;
      const tokens = count(value);
      // A comment such as `// usage.input` names the meaning of the `case` labels below it, a `UsageField` of `api.ts`. The labels are generated: see
      // `ApiNames`.
      switch (name) {
        // usage.prompt
        case 'prompt_tokens':
          prompt = tokens;
          break;
        // usage.completion
        case 'completion_tokens':
          completion = tokens;
          break;
        // usage.input
        case 'input_tokens':
        case 'inputTokens':
        case 'prompt_token_count':
        case 'inputTokenCount':
        case 'inputTextTokenCount':
        case 'promptTokenCount':
        case 'total_input_tokens':
        case 'prompt_eval_count':
          given = tokens;
          break;
        // usage.output
        case 'output_tokens':
        case 'outputTokens':
        case 'generation_token_count':
        case 'outputTokenCount':
        case 'totalOutputTextTokenCount':
        case 'candidatesTokenCount':
        case 'total_output_tokens':
        case 'responseTokenCount':
        case 'eval_count':
          made = tokens;
          break;
        // usage.total
        case 'totalTokens':
        case 'totalTokenCount':
        case 'total_tokens':
          total = tokens;
          break;
        // usage.cacheRead
        case 'cache_read_input_tokens':
        case 'cacheReadInputTokens':
        case 'cacheReadInputTokenCount':
          read = tokens;
          break;
        // usage.cacheWrite
        case 'cache_creation_input_tokens':
        case 'cacheWriteInputTokens':
        case 'cacheWriteInputTokenCount':
          write = tokens;
          break;
        // usage.inputDetails
        case 'promptTokensDetails':
        case 'input_tokens_by_modality':
        case 'prompt_tokens_details':
        case 'input_tokens_details':
        case 'input_token_details':
          levels[1] ??= value;
          continue;
        // usage.outputDetails
        case 'output_tokens_details':
        case 'candidatesTokensDetails':
        case 'output_tokens_by_modality':
        case 'responseTokensDetails':
        case 'completion_tokens_details':
        case 'output_token_details':
          levels[2] ??= value;
          continue;
        // usage.cacheDetails
        case 'cacheTokensDetails':
        case 'cached_tokens_details':
          levels[3] ??= value;
          continue;
        // usage.cached
        case 'cached_tokens':
        case 'cachedTokens':
        case 'cachedContentTokenCount':
        case 'total_cached_tokens':
        case 'prompt_eval_cached_count':
        case 'num_cached_tokens':
        case 'prompt_cache_hit_tokens':
          cached = tokens;
          break;
        // usage.cacheWritten
        case 'cache_write_tokens':
          written = tokens;
          break;
        // usage.reasoning
        case 'thinking_tokens':
        case 'reasoning_tokens':
          reasoning = tokens;
          break;
        // usage.thoughts
        case 'thoughtsTokenCount':
        case 'total_thought_tokens':
          thoughts = tokens;
          break;
        // usage.modality
        case 'text_tokens':
        case 'image_tokens':
        case 'audio_tokens':
          addTokens(sums, name, tokens);
          break;
        // usage.toolPrompt
        case 'toolUsePromptTokenCount':
        case 'total_tool_use_tokens':
          toolPrompt = tokens;
          break;
        // usage.tier
        case 'service_tier':
        case 'serviceTier':
        case 'trafficType':
          record.serviceTier ??= strOrNull(value);
          continue;
        // usage.cacheTtlObject
        case 'cache_creation':
          hour = count(obj(value).ephemeral_1h_input_tokens);
          continue;
        // usage.cacheTtlList
        case 'cacheDetails':
          hour = count(objects(value).find((entry) => entry.ttl === '1h')?.inputTokens);
          continue;
        // usage.outputOfResults
        case 'results':
          made = count(obj(list(value)[0]).tokenCount);
          continue;
        // usage.serverTools
        case 'server_tool_use':
        case 'serverToolUsage':
          serverTools = value;
          continue;
        // usage.iterations
        case 'iterations':
          iterations = value;
          continue;
        // usage.counts
        case 'tokens':
          levels[4] = value;
          continue;
        // usage.billed
        case 'billed_units':
        case 'billedUnits':
          billed = value;
          levels[4] ??= value;
          continue;
        default:
          continue;
      }
      if (tokens === null) warn(warnings, 'non_finite_number', typeof value);
    }
  }
  const reported = { input: prompt ?? given, output: completion ?? made, total };
  const cacheRead = cached ?? read;
  const cacheWrite = written ?? write;
  // The reported input does not include tool-use prompts. It includes `read` and `write` only if the object states `prompt` or `cached`.
  let input = plus(reported.input, toolPrompt);
  if (input !== null && (prompt ?? cached) === null) input = plus(plus(input, read), write);
  let output = plus(reported.output, thoughts);
  reasoning = thoughts ?? reasoning;
  if ((input ?? output ?? total) === null) return null;
  // Google omits a count that is 0.
  if (
    (input === null) !== (output === null) &&
    (u.totalTokenCount ?? u.total_input_tokens ?? u.total_output_tokens)
  ) {
    input ??= minus(total, output);
    output ??= minus(total, input);
  }
  if (reasoning && thoughts === null && total === plus(plus(input, output), reasoning)) {
    // xAI does not count reasoning tokens as output. Only the total shows this: it is the sum of input, output and reasoning.
    output = plus(output, reasoning);
    warn(warnings, 'usage_reasoning_outside_output', reasoning);
  }
  const sum = input === null || output === null ? null : input + output;
  // Gemini Live (the only API with `responseTokenCount`) does not include thoughts in its total: a mismatch there needs no warning.
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
  if (hour !== null) usage.cacheWrite1h = hour;
  if (levels[1] ?? levels[2] ?? levels[3]) usage.modality = modality;
  if (serverTools) usage.serverTools = serverTools;
  if (billed) {
    const { input_tokens, output_tokens, inputTokens, outputTokens } = obj(billed);
    usage.billed = {
      input: count(input_tokens ?? inputTokens),
      output: count(output_tokens ?? outputTokens),
    };
  }
  if (Array.isArray(iterations)) usage.iterations = iterations;
  return usage;
}

/** Reads the latency from the metrics of Bedrock or from HTTP headers, and the counts too when the body has no output count. */
export function readMetrics(metrics: Obj, record: ResponseFacts, source: Usage['source']): void {
  const latency = count(metrics.invocationLatency ?? metrics.latencyMs);
  if (record.usage?.output == null) record.usage = readUsage(metrics, record, source) ?? record.usage;
  if (latency) record.latencyMs ??= latency;
}

/**
 * Normalises the usage object of any provider.
 *
 * @param raw The usage object as the provider sent it, or as Google's Python SDK stores it.
 * @returns The counts with the meaning of {@link Usage}; null when the object states no count.
 */
export function usageOf(raw: unknown): Usage | null {
  return readUsage(fromPython(obj(raw)), { warnings: [], serviceTier: null });
}
