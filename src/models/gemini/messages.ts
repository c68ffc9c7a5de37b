import type {
  GenerateContentResponseUsageMetadata,
  LiveServerContent,
  LiveServerMessage,
  UsageMetadata,
} from '@google/genai';
import { callsIn } from '../function-calls.ts';
import type { LiveMessage, LiveOutput } from '../live/provider.ts';

/** Audio with a sample rate outside these limits is invalid. */
const MIN_RATE = 8000;
const MAX_RATE = 96_000;
/** The values of `turnCompleteReason` that are not failures. */
const GOOD_REASONS = ['TURN_COMPLETE_REASON_UNSPECIFIED', 'NEED_MORE_INPUT'];

/**
 * Converts a message of the service to a `LiveMessage`. `reportsIdle`: the model family may continue after a turn. Returns null when the message does not
 * have the documented shape, so that invalid fields are never read as text, sound or a call.
 */
export function readMessage(message: LiveServerMessage, reportsIdle: boolean): LiveMessage | null {
  if (!hasShape(message)) return null;
  const { serverContent, toolCall, toolCallCancellation, sessionResumptionUpdate, goAway, usageMetadata } =
    message;
  const calls = [...(toolCall?.functionCalls ?? []), ...callsIn(serverContent?.modelTurn)];
  const { newHandle: handle, resumable } = sessionResumptionUpdate ?? {};
  const read: LiveMessage = {};
  if (usageMetadata) read.usage = usageOf(usageMetadata);
  if (serverContent) read.output = outputOf(serverContent, reportsIdle);
  if (toolCall || calls.length > 0) read.calls = calls;
  if (toolCallCancellation?.ids) read.cancelledCalls = toolCallCancellation.ids;
  // While the model generates, the service sends updates without a handle. Ignore them: the last handle is still valid.
  if (handle) read.resumption = resumable === undefined ? { handle } : { handle, resumable };
  if (goAway) read.goAwayMs = millisecondsIn(goAway.timeLeft);
  return read;
}

function outputOf(content: LiveServerContent, reportsIdle: boolean): LiveOutput {
  const { groundingMetadata, inputTranscription, modelTurn, outputTranscription } = content;
  const output: LiveOutput = {};
  if (groundingMetadata) output.grounding = groundingMetadata;
  if (inputTranscription) output.userTranscript = inputTranscription;
  if (modelTurn?.parts) output.parts = modelTurn.parts;
  if (content.generationComplete) output.isGenerated = true;
  if (outputTranscription) output.modelTranscript = outputTranscription;
  if (content.interrupted) output.isInterrupted = true;
  if (content.turnComplete) {
    const { turnCompleteReason: reason, interactionStatus } = content;
    output.turnEnd = { continues: reportsIdle && interactionStatus === 'IN_PROGRESS' };
    if (reason && !GOOD_REASONS.includes(reason)) output.turnEnd.error = reason;
  }
  return output;
}

/** Converts token counts to the names that ADK reads. Where the total of Gemini Live leaves thoughts out, they are added. */
function usageOf(usage: UsageMetadata): GenerateContentResponseUsageMetadata {
  const { responseTokenCount, responseTokensDetails, promptTokenCount, totalTokenCount, thoughtsTokenCount } =
    usage;
  const lacksThoughts =
    thoughtsTokenCount !== undefined &&
    totalTokenCount === (promptTokenCount ?? 0) + (responseTokenCount ?? 0);
  return {
    ...usage,
    ...(responseTokenCount === undefined ? {} : { candidatesTokenCount: responseTokenCount }),
    ...(responseTokensDetails === undefined ? {} : { candidatesTokensDetails: responseTokensDetails }),
    ...(lacksThoughts ? { totalTokenCount: (totalTokenCount ?? 0) + (thoughtsTokenCount ?? 0) } : {}),
  } as GenerateContentResponseUsageMetadata;
}

/** Converts a duration in Google's format (`50s`, `1.5s`) to milliseconds. Returns 0 for any other text. */
function millisecondsIn(text: string | undefined): number {
  const seconds = Number.parseFloat(text ?? '');
  return Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : 0;
}

function hasShape(message: LiveServerMessage): boolean {
  const { serverContent, toolCall, toolCallCancellation, sessionResumptionUpdate, goAway, usageMetadata } =
    message;
  return (
    or(serverContent, isContent) &&
    or(toolCall, (one) => isObject(one) && or(one.functionCalls, (calls) => isListOf(calls, isCall))) &&
    or(toolCallCancellation, (one) => isObject(one) && or(one.ids, (ids) => isListOf(ids, isText))) &&
    or(sessionResumptionUpdate, (one) => isObject(one) && or(one.newHandle, isText)) &&
    or(goAway, (one) => isObject(one) && or(one.timeLeft, isText)) &&
    or(usageMetadata, isObject)
  );
}

type Fields = Record<string, unknown>;

function isContent(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { modelTurn, inputTranscription, outputTranscription } = value;
  return (
    or(modelTurn, (turn) => isObject(turn) && or(turn.parts, (parts) => isListOf(parts, isPart))) &&
    or(inputTranscription, isTranscription) &&
    or(outputTranscription, isTranscription)
  );
}

function isPart(value: unknown): boolean {
  return (
    isObject(value) &&
    or(value.text, isText) &&
    or(value.inlineData, isMedia) &&
    or(value.functionCall, isCall)
  );
}

function isMedia(value: unknown): boolean {
  if (!isObject(value) || typeof value.mimeType !== 'string' || typeof value.data !== 'string') return false;
  const rate = /^audio\/pcm.*rate=(\d+)/.exec(value.mimeType)?.[1];
  return rate === undefined || (Number(rate) >= MIN_RATE && Number(rate) <= MAX_RATE);
}

function isTranscription(value: unknown): boolean {
  return isObject(value) && or(value.text, isText);
}

function isCall(value: unknown): boolean {
  return (
    isObject(value) && typeof value.name === 'string' && or(value.id, isText) && or(value.args, isObject)
  );
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOf(value: unknown, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne);
}

/** Whether a field is absent or valid. */
function or(value: unknown, isRight: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || isRight(value);
}
