import type { Finish } from './record.ts';

const RAW: Readonly<Record<Exclude<Finish, 'refusal'> | 'refusal', string>> = {
  stop: 'stop end_turn stop_sequence completed complete finish finished endoftext end_of_text eos eos_token need_more_input',
  length:
    'length max_tokens max_output_tokens max_messages model_length model_context_window_exceeded continuation error_limit',
  tool_calls: 'tool_calls tool_call function_call tool_use requires_action',
  content_filter:
    'content_filter content_filtered guardrail_intervened safety recitation blocklist prohibited_content spii model_armor error_toxic sensitive response_rejected unsafe_prompt_for_image_generation',
  refusal: 'refusal',
  pause: 'pause_turn compaction',
  error:
    'error failed malformed_model_output malformed_tool_use malformed_function_call unexpected_tool_call too_many_tool_calls network_error insufficient_system_resource',
  incomplete: 'incomplete queued in_progress cancelled canceled steered abort user_cancel interrupted',
  other:
    'other language no_image unknown finish_reason_unspecified turn_complete_reason_unspecified max_regeneration_reached',
};

const FINISH: ReadonlyMap<string, Finish> = new Map(
  (Object.keys(RAW) as Finish[]).flatMap((finish) =>
    RAW[finish].split(' ').map((raw) => [raw, finish] as const),
  ),
);

// Gemini's image reasons and the long tail of Live's turnCompleteReason.
const FILTERED = /^(image|input|generated|output|prohibited)_/;

/** What else is known about a choice when its stop reason is read. */
export interface FinishContext {
  /** The client has a tool to run: `stop` then means `tool_calls`. */
  hasToolCalls?: boolean;
  /** The model refused in words: `stop` then means `refusal`. */
  hasRefusal?: boolean;
}

/** The table entry of a raw stop reason, or undefined when it is not a known one. */
export function knownFinish(raw: string): Finish | undefined {
  const known = FINISH.get(raw);
  if (known !== undefined) return known;
  const lower = raw.toLowerCase();
  return FINISH.get(lower) ?? (FILTERED.test(lower) ? 'content_filter' : undefined);
}

/** The normalised finish of any provider's raw stop reason; null in, null out. */
export function finishOf(raw: string | null | undefined, context: FinishContext = {}): Finish | null {
  if (raw === null || raw === undefined || raw === '') return null;
  const finish = knownFinish(raw) ?? 'other';
  if (finish !== 'stop') return finish;
  return context.hasToolCalls ? 'tool_calls' : context.hasRefusal ? 'refusal' : 'stop';
}

/** The AI SDK's finish reasons (v6; v7 adds more). */
export type AiSdkFinish = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

const AI_SDK: Readonly<Record<Finish, AiSdkFinish>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  content_filter: 'content-filter',
  refusal: 'content-filter',
  pause: 'stop',
  error: 'error',
  incomplete: 'other',
  other: 'other',
};

/** The AI SDK's word for a finish. */
export function aiSdkFinishOf(finish: Finish | null): AiSdkFinish {
  return finish === null ? 'other' : AI_SDK[finish];
}
