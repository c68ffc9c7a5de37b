import { errorFrom } from './errors.ts';
import { finishIn, knownFinish } from './finish.ts';
import { NOTHING, type Obj, str, strOrNull } from './json.ts';
import { type Output, type ResponseFacts, warn } from './reading.ts';
import { nameApi, type ParsedResponse } from './record.ts';
import { readMetrics } from './usage.ts';

/** HTTP headers: a `Headers` object, a list of pairs, or an object. Names may be in any case. */
export type HeaderSource = Iterable<readonly [string, string]> | Readonly<Record<string, unknown>>;

/** Facts about a response that are not in its body. All fields are optional. */
export interface ParseOptions {
  /**
   * The provider's name, any text. It becomes `record.provider`; it does not change how the response is read. A name that
   * contradicts the shape gives the warning `provider_mismatch`.
   */
  provider?: string;
  /** The HTTP headers. For some models, Bedrock InvokeModel sends the token counts only there. The retry delay and the request id are read too. */
  headers?: HeaderSource;
  /** The HTTP status, for `record.error.status`. */
  status?: number;
  /** Keep the body, or the body folded from a stream, as `record.raw`. */
  raw?: boolean;
}

/**
 * Turns headers into fields: `retry-after` becomes `retryAfter`. The headers of Bedrock InvokeModel get the names of its
 * invocation metrics: `x-amzn-bedrock-input-token-count` becomes `inputTokenCount`.
 */
function headerFields(headers: HeaderSource): Obj {
  const entries =
    Symbol.iterator in headers ? (headers as Iterable<readonly unknown[]>) : Object.entries(headers);
  return Object.fromEntries(
    [...entries].map(([name, value]) => [
      String(name)
        .toLowerCase()
        .replace('x-amzn-bedrock-', '')
        .replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
      // Some recordings have a list with one text as the value.
      String(value),
    ]),
  );
}

/**
 * Which APIs a provider offers. The first pattern matches the provider's name, the second the names of its APIs by their first letters.
 * The first entry that matches the provider's name decides.
 */
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

/** Sets the provider's name that the caller passed, and warns when the API is not one of that provider. */
function label(record: ParsedResponse, provider: string): void {
  record.provider = provider;
  record.detected = false;
  const speaks = SPEAKS.find(([name]) => name.test(provider));
  if (record.api && speaks && !speaks[1].test(record.api)) {
    warn(record.warnings, 'provider_mismatch', record.api);
  }
}

/** Sets the finish of an output and adds the warnings about its calls. Returns whether the client has a tool to run. */
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

/**
 * Completes a record after its body was read: the provider's name, the finish, the subtype, the facts that only the HTTP
 * response has, and the warnings.
 *
 * @param whole The body, or the body folded from a stream; null when there is no body.
 */
export function settle(record: ParsedResponse, options: ParseOptions, whole: Obj | null): ParsedResponse {
  const { warnings, complete } = record;
  const header = options.headers ? headerFields(options.headers) : NOTHING;
  // An error body with only a message does not show its API. AWS headers show that it is Bedrock's.
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
    record.finish = 'error';
    // An error body often lacks the status and the retry delay, so they are read from the HTTP status and headers.
    error.status = options.status ?? error.status;
    if (seconds >= 0) error.retryAfterMs ??= seconds * 1000;
    error.type ??= strOrNull(str(header.xAmznErrortype).split(':')[0]);
  } else if (complete && (record.usage?.input ?? record.usage?.output) == null)
    warn(warnings, 'usage_missing');
  if (!complete && record.streamed) warn(warnings, 'stream_incomplete');
  if (options.raw && whole) record.raw = whole;
  return record;
}

/** Why the parser could not read an input; the `code` of an `unrecognized_response`. */
type FailureCode = 'empty' | 'not_json' | 'unknown_shape' | 'unreadable';

/** Completes the record of an input that is neither a response nor an error body of a known API. */
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

/** Returns the start of a text, short enough for an error message. */
export function excerpt(text: string): string {
  return text.slice(0, 80).replace(/\s+/g, ' ');
}
