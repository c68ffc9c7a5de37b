import type { ApiDescription } from './api.ts';
import { APIS } from './apis/index.ts';
import { memo } from './json.ts';
import type { Finish } from './reading.ts';

/** What the words in a raw stop reason, in lower case, mean; the first that fits decides. */
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

/** What else is known about a choice when its stop reason is read. */
export interface FinishContext {
  /** The client has a tool to run: `stop` then means `tool_calls`. */
  hasToolCalls?: boolean;
  /** The model refused in words: `stop` then means `refusal`. */
  hasRefusal?: boolean;
}

/** The finish of a raw stop reason, or undefined when it is not a known one. */
export const knownFinish = /* @__PURE__ */ memo((raw): Finish | undefined => {
  const lower = raw.toLowerCase();
  const named = APIS.find((api: ApiDescription) => api.finish?.[lower]) as ApiDescription | undefined;
  return named?.finish?.[lower] ?? REASONS.find(([pattern]) => pattern.test(lower))?.[1];
});

/** What `stop` means when there is a tool to run or a refusal. */
export function finishIn(
  finish: Finish,
  hasToolCalls: boolean | undefined,
  hasRefusal: boolean | undefined,
): Finish {
  return finish !== 'stop' ? finish : hasToolCalls ? 'tool_calls' : hasRefusal ? 'refusal' : finish;
}

/** The normalised finish of any provider's raw stop reason; null in, null out. */
export function finishOf(raw: string | null | undefined, context: FinishContext = {}): Finish | null {
  return raw ? finishIn(knownFinish(raw) ?? 'other', context.hasToolCalls, context.hasRefusal) : null;
}
