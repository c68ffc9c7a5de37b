import type { ApiDescription } from './api.ts';
import { APIS } from './apis/index.ts';
import { memo } from './json.ts';
import type { Finish } from './reading.ts';

/** Patterns of stop reasons in lower case, and their meaning. The first pattern that matches decides. */
const REASONS: readonly (readonly [RegExp, Finish])[] = [
  [/^(stop|end_turn|complete|finish(ed)?$|endoftext|eos|need_more)/, 'stop'],
  [/^(tool|function)_|requires_action/, 'tool_calls'],
  [/length|^max_|_limit|window|continuation|budget/, 'length'],
  [
    /filter|guardrail|safety|toxic|rejected|sensitive|^(image|input|generated|output|prohibited|unsafe)_/,
    'content_filter',
  ],
  [/refusal/, 'refusal'],
  [/^pause|compaction/, 'pause'],
  [/error|fail|missing|malformed|unexpected|too_many|insufficient/, 'error'],
  [/incomplete|queued|progress|cancel|abort|steered|interrupted/, 'incomplete'],
  [/other|unknown|unspecified/, 'other'],
];

/** Facts about a choice that change the meaning of its stop reason. */
export interface FinishContext {
  /** The client has a tool to run: `stop` then means `tool_calls`. */
  hasToolCalls?: boolean;
  /** The model refused in words: `stop` then means `refusal`. */
  hasRefusal?: boolean;
}

/** Normalises a stop reason; returns undefined for an unknown reason. */
export const knownFinish = /* @__PURE__ */ memo((raw): Finish | undefined => {
  const lower = raw.toLowerCase();
  const named = APIS.find((api: ApiDescription) => api.finish?.[lower]) as ApiDescription | undefined;
  return named?.finish?.[lower] ?? REASONS.find(([pattern]) => pattern.test(lower))?.[1];
});

/** Replaces `stop` by `tool_calls` when the client has a tool to run, and by `refusal` when the model refused. */
export function finishIn(
  finish: Finish,
  hasToolCalls: boolean | undefined,
  hasRefusal: boolean | undefined,
): Finish {
  return finish !== 'stop' ? finish : hasToolCalls ? 'tool_calls' : hasRefusal ? 'refusal' : finish;
}

/**
 * Normalises the stop reason of any provider.
 *
 * @param raw The stop reason as the provider sent it, in any case.
 * @param context Whether the choice has tool calls for the client, or a refusal: both change the meaning of `stop`.
 * @returns The finish: `other` for an unknown reason, null for null, undefined or an empty text.
 */
export function finishOf(raw: string | null | undefined, context: FinishContext = {}): Finish | null {
  return raw ? finishIn(knownFinish(raw) ?? 'other', context.hasToolCalls, context.hasRefusal) : null;
}
