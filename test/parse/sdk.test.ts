import {
  BlockedReason,
  FinishReason,
  type GenerateContentResponse,
  type Interactions,
  type LiveServerMessage,
  TurnCompleteReason,
} from '@google/genai';
import { type Finish, type ParsedResponse, parse } from 'duologue/parse';
import { finishOf } from 'duologue/parse/pieces';
import { describe, expect, it } from 'vitest';

/** A reason that the SDK gains is a type error here. */
const FINISH: Record<FinishReason, Finish> = {
  FINISH_REASON_UNSPECIFIED: 'other',
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  LANGUAGE: 'other',
  OTHER: 'other',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  MALFORMED_FUNCTION_CALL: 'error',
  IMAGE_SAFETY: 'content_filter',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  NO_IMAGE: 'other',
  IMAGE_RECITATION: 'content_filter',
  IMAGE_OTHER: 'content_filter',
  CONTINUATION: 'length',
};

const TURN: Record<TurnCompleteReason, Finish> = {
  TURN_COMPLETE_REASON_UNSPECIFIED: 'other',
  MALFORMED_FUNCTION_CALL: 'error',
  RESPONSE_REJECTED: 'content_filter',
  NEED_MORE_INPUT: 'stop',
  PROHIBITED_INPUT_CONTENT: 'content_filter',
  IMAGE_PROHIBITED_INPUT_CONTENT: 'content_filter',
  INPUT_TEXT_CONTAIN_PROMINENT_PERSON_PROHIBITED: 'content_filter',
  INPUT_IMAGE_CELEBRITY: 'content_filter',
  INPUT_IMAGE_PHOTO_REALISTIC_CHILD_PROHIBITED: 'content_filter',
  INPUT_TEXT_NCII_PROHIBITED: 'content_filter',
  INPUT_OTHER: 'content_filter',
  INPUT_IP_PROHIBITED: 'content_filter',
  BLOCKLIST: 'content_filter',
  UNSAFE_PROMPT_FOR_IMAGE_GENERATION: 'content_filter',
  GENERATED_IMAGE_SAFETY: 'content_filter',
  GENERATED_CONTENT_SAFETY: 'content_filter',
  GENERATED_AUDIO_SAFETY: 'content_filter',
  GENERATED_VIDEO_SAFETY: 'content_filter',
  GENERATED_CONTENT_PROHIBITED: 'content_filter',
  GENERATED_CONTENT_BLOCKLIST: 'content_filter',
  GENERATED_IMAGE_PROHIBITED: 'content_filter',
  GENERATED_IMAGE_CELEBRITY: 'content_filter',
  GENERATED_IMAGE_PROMINENT_PEOPLE_DETECTED_BY_REWRITER: 'content_filter',
  GENERATED_IMAGE_IDENTIFIABLE_PEOPLE: 'content_filter',
  GENERATED_IMAGE_MINORS: 'content_filter',
  OUTPUT_IMAGE_IP_PROHIBITED: 'content_filter',
  GENERATED_OTHER: 'content_filter',
  MAX_REGENERATION_REACHED: 'length',
};

/** The SDK allows other texts, too; these are the ones it knows. */
type Known<T> = T extends string ? (string extends T ? never : T) : never;
type Status = Known<NonNullable<Interactions.Interaction['status']>>;

const STATUS: Record<Status, Finish> = {
  in_progress: 'incomplete',
  queued: 'incomplete',
  cancelled: 'incomplete',
  incomplete: 'incomplete',
  requires_action: 'tool_calls',
  requires_continuation: 'length',
  budget_exceeded: 'length',
  completed: 'stop',
  failed: 'error',
};

const codes = (record: ParsedResponse) => record.warnings.map((warning) => warning.code);

describe("every reason that Google's SDK knows", () => {
  it.each(Object.values(FinishReason))('%s of a candidate', (finishReason) => {
    const body: Partial<GenerateContentResponse> = {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason }],
    };
    const record = parse(body);
    expect(record).toMatchObject({ stopReason: finishReason, finish: FINISH[finishReason], text: 'Hi' });
    expect(codes(record)).not.toContain('unknown_stop_reason');
  });

  it.each(Object.values(TurnCompleteReason))('%s of a turn', (turnCompleteReason) => {
    const messages: Partial<LiveServerMessage>[] = [
      { serverContent: { modelTurn: { parts: [{ text: 'Hi' }] } } },
      { serverContent: { turnComplete: true, turnCompleteReason } },
    ];
    const record = parse(messages);
    expect(record).toMatchObject({ stopReason: turnCompleteReason, finish: TURN[turnCompleteReason] });
    expect(codes(record)).not.toContain('unknown_stop_reason');
  });

  it.each(Object.values(BlockedReason))('%s of a prompt', (blockReason) => {
    const body: Partial<GenerateContentResponse> = { promptFeedback: { blockReason } };
    expect(parse(body)).toMatchObject({ finish: 'content_filter', stopDetail: { category: blockReason } });
  });

  it.each(Object.entries(STATUS))('%s of an interaction is %s', (status, finish) => {
    expect(finishOf(status)).toBe(finish);
    expect(parse({ object: 'interaction', id: 'i', status, steps: [] }).finish).toBe(finish);
  });
});
