import { finishOf, knownFinish } from './finish.ts';
import { type HeaderSource, headerLookup } from './headers.ts';
import { type Draft, isObject, type Obj } from './json.ts';
import type { Output, ParsedError, ParsedResponse } from './record.ts';
import { headerUsage, readUsage } from './usage.ts';
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

const METRICS = 'amazon-bedrock-invocationMetrics';
const GUARDRAIL = 'amazon-bedrock-guardrailAction';
const TRACE = 'amazon-bedrock-trace';

/** Takes what Bedrock adds to the bodies and chunks of every model family, and tells whether it added anything. */
export function noteBedrock(value: Obj, extra: Draft): boolean {
  const metrics = value[METRICS];
  const guardrail = value[GUARDRAIL];
  const trace = value[TRACE];
  if (metrics) extra[METRICS] = metrics;
  if (guardrail) extra[GUARDRAIL] = guardrail;
  if (trace) extra[TRACE] = trace;
  return Boolean(metrics || guardrail || trace);
}

/** The shapes that a provider of that name may send. */
const SPEAKS: readonly (readonly [name: RegExp, api: RegExp])[] = [
  [/bedrock|amazon|aws/i, /^[bao]/],
  [/vertex/i, /^[gao]/],
  [/gemini|google/i, /^g/],
  [/anthropic|claude/i, /^a/],
  [/openai|azure|openrouter|groq|xai|deepseek/i, /^o/],
];

/** Gives the record the caller's name for the provider, and says so when the shape contradicts it. */
function label(record: ParsedResponse, provider: string | undefined): void {
  if (!provider) return;
  record.provider = provider;
  record.detected = false;
  const speaks = SPEAKS.find(([name]) => name.test(provider));
  if (record.api && speaks && !speaks[1].test(record.api)) {
    warn(record.warnings, 'provider_mismatch', record.api);
  }
}

function settleOutput(out: Output, { warnings, complete }: ParsedResponse): void {
  const raw = out.stopReason;
  const known = raw === null ? null : knownFinish(raw);
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
  if (raw !== null && known === undefined) warn(warnings, 'unknown_stop_reason', raw);
  out.finish ??= finishOf(raw, { hasToolCalls: planning, hasRefusal: out.refusal !== null });
  if (!complete) out.finish ??= 'incomplete';
}

function settleBedrock(record: ParsedResponse, extra: Obj): void {
  const metrics = extra[METRICS];
  if (isObject(metrics)) {
    record.usage ??= readUsage(metrics, record.warnings, 'invocation_metrics');
    if (typeof metrics.invocationLatency === 'number') record.latencyMs ??= metrics.invocationLatency;
  }
  if (extra[GUARDRAIL] !== 'INTERVENED') return;
  record.finish = 'content_filter';
  record.safety = extra[TRACE];
}

function settleHeaders(record: ParsedResponse, header: (name: string) => string | null): void {
  record.id ??= header('x-amzn-requestid');
  // Where the body has one counter, the headers have all of them.
  if (record.usage?.output == null) record.usage = headerUsage(header, record.warnings) ?? record.usage;
  const latency = header('x-amzn-bedrock-invocation-latency');
  if (latency !== null) record.latencyMs ??= Number(latency) || 0;
}

/** Completes an error with what only the HTTP response knows. */
function settleError(record: ParsedResponse, error: ParsedError, { status, headers }: ParseOptions): void {
  record.error = error;
  record.finish = 'error';
  error.status = status ?? error.status;
  const header = headerLookup(headers);
  const seconds = Number(header('retry-after') ?? Number.NaN);
  if (seconds >= 0) error.retryAfterMs ??= seconds * 1000;
  error.type ??= header('x-amzn-errortype')?.split(':')[0] ?? null;
}

/** Draws the conclusions that are the same for every API; `extra` has what Bedrock adds. */
export function settle(
  record: ParsedResponse,
  extra: Obj,
  options: ParseOptions,
  whole: Obj | null,
  error: ParsedError | null = null,
): ParsedResponse {
  const { warnings, complete } = record;
  label(record, options.provider);
  settleBedrock(record, extra);
  if (options.headers && whole) settleHeaders(record, headerLookup(options.headers));
  settleOutput(record, record);
  for (const choice of record.choices ?? []) settleOutput(choice, record);
  const planning = record.toolUses.some((use) => use.executor === 'client');
  record.subtype = planning ? 'planning' : record.content.length > 0 ? 'response' : null;
  if (error ?? record.error) settleError(record, (error ?? record.error) as ParsedError, options);
  else if (complete && (record.usage?.input ?? record.usage?.output) == null)
    warn(warnings, 'usage_missing', '');
  if (!complete && record.streamed) warn(warnings, 'stream_incomplete', '');
  if (options.raw && whole) record.raw = whole;
  return record;
}
