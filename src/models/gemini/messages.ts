import type { LiveServerMessage } from '@google/genai';

/** Sound of any other rate is none. */
const MIN_RATE = 8000;
const MAX_RATE = 96_000;

/**
 * Whether a message has the shape that the service documents, as far as it is read: anything else would be taken for words,
 * for sound or for a call.
 */
export function hasShape(message: LiveServerMessage): boolean {
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

/** A duration as Google writes it: `50s`, `1.5s`. What is none is no time at all. */
export function millisecondsIn(text: string | undefined): number {
  const seconds = Number.parseFloat(text ?? '');
  return Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : 0;
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

/** What may be left out. */
function or(value: unknown, isRight: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || isRight(value);
}
