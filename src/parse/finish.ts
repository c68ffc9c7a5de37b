import type { Finish } from './record.ts';

/** Raw stop reasons of all providers, in lower case. */
const RAW: Readonly<Record<Finish, string>> = {
  stop: 'stop end_turn stop_sequence completed complete finish endoftext eos need_more_input',
  length: 'length max_tokens model_length model_context_window_exceeded continuation error_limit',
  tool_calls: 'tool_calls tool_call function_call tool_use requires_action',
  content_filter:
    'content_filter content_filtered guardrail_intervened safety recitation blocklist spii model_armor error_toxic response_rejected',
  refusal: 'refusal',
  pause: 'pause_turn compaction',
  error: 'error failed unexpected_tool_call too_many_tool_calls insufficient_system_resource',
  incomplete: 'incomplete queued in_progress cancelled steered user_cancel interrupted',
  other: 'other language no_image unknown',
};

/** Families of raw reasons: Gemini's images and prompts, Live's long tail, everything malformed. */
const PATTERNS: readonly (readonly [RegExp, Finish])[] = [
  [/^(image|input|generated|output|prohibited|unsafe)_/, 'content_filter'],
  [/^max_/, 'length'],
  [/^malformed_/, 'error'],
  [/_unspecified$/, 'other'],
];

const FINISH: ReadonlyMap<string, Finish> = new Map(
  (Object.keys(RAW) as Finish[]).flatMap((finish) => RAW[finish].split(' ').map((raw) => [raw, finish])),
);

/** What else is known about a choice when its stop reason is read. */
export interface FinishContext {
  /** The client has a tool to run: `stop` then means `tool_calls`. */
  hasToolCalls?: boolean;
  /** The model refused in words: `stop` then means `refusal`. */
  hasRefusal?: boolean;
}

/** The finish of a raw stop reason, or undefined when it is not a known one. */
export function knownFinish(raw: string): Finish | undefined {
  const lower = raw.toLowerCase();
  return FINISH.get(raw) ?? FINISH.get(lower) ?? PATTERNS.find(([pattern]) => pattern.test(lower))?.[1];
}

/** The normalised finish of any provider's raw stop reason; null in, null out. */
export function finishOf(raw: string | null | undefined, context: FinishContext = {}): Finish | null {
  if (!raw) return null;
  const finish = knownFinish(raw) ?? 'other';
  if (finish !== 'stop') return finish;
  return context.hasToolCalls ? 'tool_calls' : context.hasRefusal ? 'refusal' : finish;
}

/** The AI SDK's finish reasons (v6; v7 adds more). */
export type AiSdkFinish = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** The AI SDK's word for a finish. */
export function aiSdkFinishOf(finish: Finish | null): AiSdkFinish {
  if (finish === 'refusal' || finish === 'content_filter') return 'content-filter';
  if (finish === 'tool_calls') return 'tool-calls';
  if (finish === 'pause') return 'stop';
  return finish === null || finish === 'incomplete' ? 'other' : finish;
}
