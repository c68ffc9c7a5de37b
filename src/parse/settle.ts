import { finishOf, knownFinish } from './finish.ts';
import { type HeaderSource, headerLookup } from './headers.ts';
import { isObject, type Obj } from './json.ts';
import type { Output, ParsedError, ParsedResponse, Warning } from './record.ts';
import { headerUsage, metricsUsage } from './usage.ts';
import { warn } from './warn.ts';

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

/** What was gathered beside the body. */
export interface Gathered {
  metrics: Obj | null;
  error: ParsedError | null;
}

const SPEAKS: readonly (readonly [name: RegExp, api: RegExp])[] = [
  [/bedrock|amazon|aws/i, /^(bedrock|anthropic|openai)/],
  [/vertex/i, /^(gemini|anthropic|openai)/],
  [/gemini|google/i, /^gemini/],
  [/anthropic|claude/i, /^anthropic/],
  [/openai|azure|openrouter|groq|xai|deepseek/i, /^openai/],
];

/** Gives the record the caller's name for the provider, and says so when the shape contradicts it. */
export function label(record: ParsedResponse, provider: string | undefined): void {
  if (typeof provider !== 'string' || provider === '') return;
  record.provider = provider;
  record.detected = false;
  const api = record.api;
  const speaks = SPEAKS.find(([name]) => name.test(provider))?.[1];
  if (api !== null && speaks !== undefined && !speaks.test(api)) {
    warn(record.warnings, 'provider_mismatch', `told ${provider}, but the shape is ${api}`);
  }
}

function settleOutput(out: Output, warnings: Warning[], complete: boolean): void {
  let planning = false;
  for (const use of out.toolUses) {
    if (use.executor === 'client') planning = true;
    if (use.idSynthesized)
      warn(warnings, 'synthesized_id', `the provider gave no id for the call of ${use.name}`);
    if (!use.inputValid) {
      const cut = !complete || (out.stopReason !== null && knownFinish(out.stopReason) === 'length');
      const code = cut ? 'tool_args_truncated' : 'tool_args_invalid_json';
      warn(warnings, code, `the arguments of ${use.name} are not valid JSON; inputRaw has them as sent`);
    }
  }
  if (out.stopReason === null) {
    if (!complete) out.finish ??= 'incomplete';
    return;
  }
  out.finish ??= finishOf(out.stopReason, { hasToolCalls: planning, hasRefusal: out.refusal !== null });
  if (knownFinish(out.stopReason) === undefined) {
    warn(warnings, 'unknown_stop_reason', `stop reason ${out.stopReason}`);
  }
}

function settleBedrock(record: ParsedResponse, body: Obj, options: ParseOptions, gathered: Gathered): void {
  if (body['amazon-bedrock-guardrailAction'] === 'INTERVENED') {
    record.finish = 'content_filter';
    record.safety = body['amazon-bedrock-trace'];
  }
  const metrics = gathered.metrics ?? body['amazon-bedrock-invocationMetrics'];
  if (isObject(metrics)) {
    record.usage ??= metricsUsage(metrics, record.warnings);
    if (typeof metrics.invocationLatency === 'number') record.latencyMs ??= metrics.invocationLatency;
  }
  if (options.headers === undefined) return;
  const header = headerLookup(options.headers);
  record.id ??= header('x-amzn-requestid');
  // Where the body has one counter, the headers have all of them.
  if (record.usage === null || record.usage.output === null) {
    record.usage = headerUsage(header, record.warnings) ?? record.usage;
  }
  const latency = Number(header('x-amzn-bedrock-invocation-latency') ?? Number.NaN);
  if (latency >= 0) record.latencyMs ??= latency;
}

/** Completes an error with what only the HTTP response knows. */
export function settleError(error: ParsedError, options: ParseOptions): void {
  if (typeof options.status === 'number') error.status = options.status;
  if (options.headers === undefined) return;
  const header = headerLookup(options.headers);
  const after = Number(header('retry-after-ms') ?? Number(header('retry-after') ?? Number.NaN) * 1000);
  if (after >= 0) error.retryAfterMs ??= after;
  error.type ??= header('x-amzn-errortype')?.split(':')[0] ?? null;
}

const FROM_BEDROCK = /^bedrock/;

/** Draws the conclusions that are the same for every API. */
export function settle(
  record: ParsedResponse,
  body: Obj,
  options: ParseOptions,
  gathered: Gathered,
): ParsedResponse {
  label(record, options.provider);
  if (
    gathered.metrics !== null ||
    options.headers !== undefined ||
    FROM_BEDROCK.test(record.api ?? '') ||
    body['amazon-bedrock-guardrailAction'] !== undefined
  ) {
    settleBedrock(record, body, options, gathered);
  }
  settleOutput(record, record.warnings, record.complete);
  if (record.choices !== undefined) {
    for (const choice of record.choices) settleOutput(choice, record.warnings, record.complete);
  }
  record.subtype = record.toolUses.some((use) => use.executor === 'client')
    ? 'planning'
    : record.content.length > 0
      ? 'response'
      : null;
  if (gathered.error !== null) record.error = gathered.error;
  if (record.error !== null) {
    settleError(record.error, options);
    record.finish = 'error';
  } else if (record.complete && record.usage?.input == null && record.usage?.output == null) {
    warn(record.warnings, 'usage_missing', 'the response states no token counts');
  }
  if (!record.complete && record.streamed)
    warn(record.warnings, 'stream_incomplete', 'the stream ended early');
  if (options.raw === true) record.raw = body;
  return record;
}
