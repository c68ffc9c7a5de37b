import type { ApiReader, Fold } from './api.ts';
import { readChoices } from './choices.ts';
import { type Draft, firstKey, isObject, list, millis, type Obj, obj, str, strOrNull } from './json.ts';
import { readKeyed } from './keyed-parts.ts';
import { addCitation } from './output.ts';
import { setPartialArg } from './partial-args.ts';
import type { Output, ParsedResponse } from './record.ts';
import { readUsage } from './usage.ts';

const CHUNKS = ['web', 'maps', 'image', 'retrievedContext'] as const;

/** Takes the sources of a candidate or a Live turn. */
export function readGrounding(grounding: unknown, out: Output, record: ParsedResponse): void {
  if (!isObject(grounding)) return;
  record.grounding ??= grounding;
  for (const entry of list(grounding.groundingChunks)) {
    const chunk = obj(entry);
    const kind = firstKey(chunk, CHUNKS) ?? '';
    addCitation(out, null, chunk, obj(chunk[kind]));
  }
}

function readCandidate(candidate: Obj, out: Output, record: ParsedResponse): void {
  out.stopReason = strOrNull(candidate.finishReason);
  for (const part of list(obj(candidate.content).parts)) readKeyed(obj(part), out, record.warnings);
  if (candidate.finishMessage) out.stopDetail = { message: str(candidate.finishMessage) };
  if (candidate.safetyRatings) record.safety ??= candidate.safetyRatings;
  if (isObject(candidate.citationMetadata)) {
    const { citations, citationSources } = candidate.citationMetadata;
    for (const source of list(citations ?? citationSources)) addCitation(out, null, obj(source), obj(source));
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
  record.stopDetail = { category: str(blockReason) };
  if (blockReasonMessage) record.stopDetail.message = str(blockReasonMessage);
  record.safety = body.promptFeedback;
}

/** Gathers streamed parts: neighbouring texts of one kind are one, and arguments may come in pieces. */
export interface PartsFold {
  push(part: Obj): void;
  end(): readonly Obj[];
}

/** Starts gathering parts. */
export function foldParts(): PartsFold {
  const parts: Draft[] = [];
  let args: Draft | null = null;
  let openPath = '';
  const pushCall = (part: Obj, call: Obj): void => {
    // Only the first piece of a call has a name; a piece without willContinue is the last.
    if (call.name || args === null) {
      const { partialArgs, willContinue, ...whole } = call;
      args = { ...obj(whole.args) };
      parts.push({ ...part, functionCall: { ...whole, args } });
    }
    for (const piece of list(call.partialArgs)) openPath = setPartialArg(args, obj(piece), openPath);
    if (call.willContinue !== true) args = null;
  };
  return {
    push(part) {
      const last = parts.at(-1);
      if (isObject(part.functionCall)) pushCall(part, part.functionCall);
      else if (typeof part.text !== 'string') parts.push(part);
      else if (
        typeof last?.text === 'string' &&
        !last.thoughtSignature &&
        !!last.thought === !!part.thought
      ) {
        last.text += part.text;
        if (part.thoughtSignature) last.thoughtSignature = part.thoughtSignature;
      } else parts.push({ ...part });
    },
    end: () => parts,
  };
}

function fold(): Fold {
  const body: Draft = {};
  const usage: Draft = {};
  const candidates = new Map<unknown, { draft: Draft; parts: PartsFold }>();
  let finished = false;
  const pushCandidate = (candidate: Obj): void => {
    const index = candidate.index ?? 0;
    let known = candidates.get(index);
    if (known === undefined) {
      known = { draft: {}, parts: foldParts() };
      candidates.set(index, known);
    }
    for (const part of list(obj(candidate.content).parts)) known.parts.push(obj(part));
    Object.assign(known.draft, candidate);
    if (candidate.finishReason) finished = true;
  };
  return {
    push(event) {
      const { responseId } = event;
      if (!event.candidates && !event.usageMetadata && !event.promptFeedback) return 'foreign';
      if (finished && list(event.candidates).length > 0 && responseId !== body.responseId) return 'restart';
      Object.assign(body, event);
      // Cumulative, but some chunks state the traffic type alone.
      Object.assign(usage, event.usageMetadata);
      for (const entry of list(event.candidates)) pushCandidate(obj(entry));
      if (obj(event.promptFeedback).blockReason) finished = true;
      return 'taken';
    },
    end() {
      const folded = [...candidates.values()].map(({ draft, parts }) => ({
        ...draft,
        content: { parts: parts.end() },
      }));
      return { body: { ...body, candidates: folded, usageMetadata: usage }, complete: finished };
    },
  };
}

/** Gemini and Vertex generateContent; every chunk of its stream is a small whole response. */
export const geminiGenerateContent: ApiReader = {
  api: 'gemini.generateContent',
  provider: 'gemini',
  recognise(value) {
    if (Array.isArray(value.candidates) || isObject(value.promptFeedback)) return 'either';
    const live = value.serverContent ?? value.toolCall;
    return isObject(value.usageMetadata) && live === undefined ? 'either' : null;
  },
  read,
  fold,
};
