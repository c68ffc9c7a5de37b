import type { ApiReader } from './api.ts';
import { readChoices } from './choices.ts';
import { itemFold, type Step, stepOfList } from './item-fold.ts';
import { type Draft, firstKey, isObject, list, millis, type Obj, obj, objects, strOrNull } from './json.ts';
import { readKeyed } from './keyed-parts.ts';
import { addPart } from './merge.ts';
import { addCitation, addStopDetail } from './output.ts';
import { setPartialArg } from './partial-args.ts';
import type { Output, ParsedResponse } from './record.ts';
import { readUsage } from './usage.ts';

const CHUNKS = ['web', 'maps', 'image', 'retrievedContext'] as const;

/** Takes the sources of a candidate or a Live turn. */
export function readGrounding(grounding: unknown, out: Output, record: ParsedResponse): void {
  if (!isObject(grounding)) return;
  record.grounding ??= grounding;
  for (const chunk of objects(grounding.groundingChunks)) {
    const kind = firstKey(chunk, CHUNKS) ?? '';
    addCitation(out, null, chunk, obj(chunk[kind]));
  }
}

function readCandidate(candidate: Obj, out: Output, record: ParsedResponse): void {
  out.stopReason = strOrNull(candidate.finishReason);
  for (const part of objects(obj(candidate.content).parts)) readKeyed(part, out, record.warnings);
  if (candidate.finishMessage) addStopDetail(out, null, null, candidate.finishMessage);
  if (candidate.safetyRatings) record.safety ??= candidate.safetyRatings;
  if (isObject(candidate.citationMetadata)) {
    const { citations, citationSources } = candidate.citationMetadata;
    for (const source of objects(citations ?? citationSources)) addCitation(out, null, source, source);
  }
  readGrounding(candidate.groundingMetadata, out, record);
}

function read(body: Obj, record: ParsedResponse): void {
  record.id = strOrNull(body.responseId);
  record.model = strOrNull(body.modelVersion);
  if (body.createTime) record.createdAt = millis(body.createTime);
  if (isObject(body.usageMetadata)) {
    record.usage = readUsage('gemini', body.usageMetadata, record.warnings);
    record.serviceTier = strOrNull(body.usageMetadata.serviceTier ?? body.usageMetadata.trafficType);
  }
  readChoices(list(body.candidates), record, readCandidate);
  const { blockReason, blockReasonMessage } = obj(body.promptFeedback);
  if (!blockReason) return;
  record.finish = 'content_filter';
  addStopDetail(record, null, blockReason, blockReasonMessage);
  record.safety = body.promptFeedback;
}

/** Streamed parts as the whole response has them; the arguments of a call may come in pieces. */
export function closeParts(parts: unknown): readonly Obj[] {
  let args: Draft | null = null;
  let openPath = '';
  const whole: Draft[] = [];
  for (const part of objects(parts)) {
    const call = part.functionCall;
    if (!isObject(call)) {
      addPart(whole, part);
      continue;
    }
    // Only the first piece of a call has a name; a piece without willContinue is the last.
    if (call.name || args === null) {
      args = { ...obj(call.args) };
      whole.push({ ...part, functionCall: { id: call.id, name: call.name, args } });
    }
    for (const piece of objects(call.partialArgs)) openPath = setPartialArg(args, piece, openPath);
    if (call.willContinue !== true) args = null;
  }
  return whole;
}

function stepOf(event: Obj): Step | null {
  const { candidates, usageMetadata, promptFeedback } = event;
  if (!candidates && !usageMetadata && !promptFeedback) return null;
  const step = stepOfList(event, candidates, 'finishReason');
  step.done ||= obj(promptFeedback).blockReason;
  return step;
}

function close(body: Draft, items: Draft[]): Obj {
  const candidates = items.map((candidate) => {
    return { ...candidate, content: { parts: closeParts(obj(candidate.content).parts) } };
  });
  return { ...body, candidates };
}

/** Gemini and Vertex generateContent; every chunk of its stream is a small whole response. */
export const geminiGenerateContent: ApiReader = {
  api: 'gemini.generateContent',
  recognise(value) {
    if (Array.isArray(value.candidates) || isObject(value.promptFeedback)) return 'either';
    const live = value.serverContent ?? value.toolCall;
    return isObject(value.usageMetadata) && live === undefined ? 'either' : null;
  },
  read,
  fold: itemFold({ stepOf, close }),
};
