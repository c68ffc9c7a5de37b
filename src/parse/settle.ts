import { errorFrom } from './errors.ts';
import { finishIn, knownFinish } from './finish.ts';
import { NOTHING, type Obj, str, strOrNull } from './json.ts';
import { type Output, type ResponseFacts, warn } from './reading.ts';
import { nameApi, type ParsedResponse } from './record.ts';
import { readMetrics } from './usage.ts';

/** HTTP headers in any of the usual forms. */
export type HeaderSource = Iterable<readonly [string, string]> | Readonly<Record<string, unknown>>;

/** What the caller knows beside the response itself. */
export interface ParseOptions {
  /** Names the provider; the shape still decides how the response is read. */
  provider?: string;
  /** HTTP headers: Bedrock InvokeModel has its token counts only there. */
  headers?: HeaderSource;
  /** HTTP status. */
  status?: number;
  /** Keep the whole (or folded) body as `raw`. */
  raw?: boolean;
}

/**
 * Headers as fields: `retry-after` is `retryAfter`, and those of Bedrock InvokeModel have the names of its invocation
 * metrics: `x-amzn-bedrock-input-token-count` is `inputTokenCount`.
 */
export function headerFields(headers: HeaderSource): Obj {
  const entries =
    Symbol.iterator in headers ? (headers as Iterable<readonly unknown[]>) : Object.entries(headers);
  return Object.fromEntries(
    [...entries].map(([name, value]) => [
      String(name)
        .toLowerCase()
        .replace('x-amzn-bedrock-', '')
        .replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
      // Recordings have lists of one.
      String(value),
    ]),
  );
}

/** The shapes that a provider of that name may send. */
const SPEAKS: readonly (readonly [name: RegExp, api: RegExp])[] = [
  [/bedrock|amazon|aws/i, /^([bac]|op)/],
  [/vertex/i, /^([ga]|op)/],
  [/gemini|google/i, /^g/],
  [/anthropic|claude/i, /^a/],
  [/azure|openrouter|groq|xai|deepseek/i, /^(a|op)/],
  [/openai/i, /^op/],
  [/cohere/i, /^([cb]|op)/],
  [/ollama/i, /^[ao]/],
];

/** Gives the record the caller's name for the provider, and says so when the shape contradicts it. */
function label(record: ParsedResponse, provider: string): void {
  record.provider = provider;
  record.detected = false;
  const speaks = SPEAKS.find(([name]) => name.test(provider));
  if (record.api && speaks && !speaks[1].test(record.api)) {
    warn(record.warnings, 'provider_mismatch', record.api);
  }
}

/** Whether the client has a tool to run. */
function settleOutput(out: Output, { warnings, complete }: ResponseFacts): boolean {
  const raw = out.stopReason;
  const known = raw ? knownFinish(raw) : undefined;
  let planning = false;
  for (const use of out.toolUses) {
    if (use.executor === 'client') planning = true;
    if (use.idSynthesized) warn(warnings, 'synthesized_id', use.name);
    if (use.inputValid) continue;
    warn(
      warnings,
      complete && known !== 'length' ? 'tool_args_invalid_json' : 'tool_args_truncated',
      use.name,
    );
  }
  if (raw && !known) warn(warnings, 'unknown_stop_reason', raw);
  if (raw) out.finish ??= finishIn(known ?? 'other', planning, Boolean(out.refusal));
  if (!complete) out.finish ??= 'incomplete';
  return planning;
}

/** Draws the conclusions that are the same for every API. */
export function settle(record: ParsedResponse, options: ParseOptions, whole: Obj | null): ParsedResponse {
  const { warnings, complete } = record;
  const header = options.headers ? headerFields(options.headers) : NOTHING;
  // An error that has only a message is Bedrock's if the headers say so.
  if (record.error?.type === null && !record.api && (header.xAmznErrortype ?? header.xAmznRequestid))
    nameApi(record, 'bedrock.converse');
  if (options.provider) label(record, options.provider);
  if (whole && options.headers) {
    record.id ??= strOrNull(header.xAmznRequestid);
    readMetrics(header, record, 'headers');
  }
  if (record.choices) for (const choice of record.choices) settleOutput(choice, record);
  record.subtype = settleOutput(record, record) ? 'planning' : record.content.length > 0 ? 'response' : null;
  if (record.error) {
    const { error } = record;
    const seconds = Number(header.retryAfter ?? Number.NaN);
    // Some things only the HTTP response knows.
    record.finish = 'error';
    error.status = options.status ?? error.status;
    if (seconds >= 0) error.retryAfterMs ??= seconds * 1000;
    error.type ??= strOrNull(str(header.xAmznErrortype).split(':')[0]);
  } else if (complete && (record.usage?.input ?? record.usage?.output) == null)
    warn(warnings, 'usage_missing');
  if (!complete && record.streamed) warn(warnings, 'stream_incomplete');
  if (options.raw && whole) record.raw = whole;
  return record;
}

/** Why an input is no provider's response. */
export type FailureCode = 'empty' | 'not_json' | 'unknown_shape' | 'unreadable';

/** Makes a record that of an input that is neither a response nor an error body of a known shape. */
export function failureRecord(
  record: ParsedResponse,
  code: FailureCode,
  seen: string,
  options: ParseOptions,
): ParsedResponse {
  const message = `not a known provider's response: ${excerpt(seen)}`;
  record.error = errorFrom({ type: 'unrecognized_response', code, message });
  record.complete = false;
  return settle(record, options, null);
}

/** The start of a text, short enough for a message. */
export function excerpt(text: string): string {
  return text.slice(0, 80).replace(/\s+/g, ' ');
}
