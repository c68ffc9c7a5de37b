import type { ApiReader, Fold, Folded, Taken } from './api.ts';
import { readChoices } from './choices.ts';
import { type Draft, firstKey, isObject, list, millis, type Obj, obj, str, strOrNull } from './json.ts';
import {
  addCitation,
  addFunction,
  addMedia,
  addOther,
  addReasoning,
  addText,
  addTool,
  addToolResult,
} from './output.ts';
import { PartialArgs } from './partial-args.ts';
import type { Output, ParsedResponse, Warning } from './record.ts';
import { geminiUsage } from './usage.ts';
import { warn } from './warn.ts';

/** Reads one part of a generateContent candidate or of a Live model turn. */
export function readPart(part: Obj, out: Output, warnings: Warning[]): void {
  const signature = strOrNull(part.thoughtSignature);
  if (typeof part.text === 'string') {
    if (part.thought === true) addReasoning(out, part.text, signature);
    else if (part.text !== '' || signature !== null) {
      const text = addText(out, part.text);
      if (signature !== null) text.signature = signature;
    }
  } else if (isObject(part.functionCall)) {
    const { id, name, args } = part.functionCall;
    const use = addFunction(out, id, name, args);
    if (signature !== null) use.signature = signature;
  } else if (isObject(part.inlineData)) {
    addMedia(out, part.inlineData.mimeType, part.inlineData.data, part);
  } else if (isObject(part.fileData)) {
    addMedia(out, part.fileData.mimeType, part.fileData.fileUri, part);
  } else if (isObject(part.executableCode)) {
    const { id } = part.executableCode;
    addTool(out, id, 'code_execution', part.executableCode, 'server', 'builtin').raw = part;
  } else if (isObject(part.codeExecutionResult)) {
    const { id, outcome } = part.codeExecutionResult;
    addToolResult(out, id, part.codeExecutionResult, outcome !== undefined && outcome !== 'OUTCOME_OK', part);
  } else if (isObject(part.functionResponse)) {
    addToolResult(out, part.functionResponse.id, part.functionResponse.response, false, part);
  } else if (isObject(part.toolCall)) {
    const { id, toolType, name, args } = part.toolCall;
    addTool(out, id, name ?? toolType, args, 'server', 'builtin').raw = part;
  } else if (isObject(part.toolResponse)) {
    addToolResult(out, part.toolResponse.id, part.toolResponse.response ?? part.toolResponse, false, part);
  } else if (signature === null || Object.keys(part).length > 2) readRest(part, out, warnings);
  else addText(out, '').signature = signature;
}

function readRest(part: Obj, out: Output, warnings: Warning[]): void {
  const kind = Object.keys(part).find((key) => key !== 'thought' && key !== 'thoughtSignature');
  if (kind === undefined) return;
  addOther(out, kind, part);
  if (kind !== 'audioTranscription' && kind !== 'videoMetadata')
    warn(warnings, 'unknown_block', `part ${kind}`);
}

const CHUNKS = ['web', 'maps', 'image', 'retrievedContext'] as const;

/** Takes the sources of a candidate or a Live turn. */
export function readGrounding(grounding: unknown, out: Output, record: ParsedResponse): void {
  if (!isObject(grounding)) return;
  record.grounding ??= grounding;
  for (const entry of list(grounding.groundingChunks)) {
    const chunk = obj(entry);
    const kind = firstKey(chunk, CHUNKS);
    if (kind !== undefined)
      addCitation(out, null, { ...chunk, type: kind }, obj(chunk[kind]), obj(chunk[kind]).text);
  }
}

function readCandidate(candidate: Obj, out: Output, record: ParsedResponse): void {
  out.stopReason = strOrNull(candidate.finishReason);
  for (const part of list(obj(candidate.content).parts)) readPart(obj(part), out, record.warnings);
  if (candidate.finishMessage) out.stopDetail = { message: str(candidate.finishMessage) };
  if (candidate.safetyRatings) record.safety ??= candidate.safetyRatings;
  if (candidate.citationMetadata) {
    const { citations, citationSources } = obj(candidate.citationMetadata);
    for (const source of list(citations ?? citationSources)) addCitation(out, null, obj(source), obj(source));
  }
  readGrounding(candidate.groundingMetadata, out, record);
}

function read(body: Obj, record: ParsedResponse): void {
  record.id = strOrNull(body.responseId);
  record.model = strOrNull(body.modelVersion);
  if (body.createTime) record.createdAt = millis(body.createTime);
  if (isObject(body.usageMetadata)) {
    record.usage = geminiUsage(body.usageMetadata, record.warnings);
    record.serviceTier = strOrNull(body.usageMetadata.serviceTier ?? body.usageMetadata.trafficType);
  }
  readChoices(list(body.candidates), record, readCandidate);
  if (isObject(body.promptFeedback) && body.promptFeedback.blockReason) {
    record.finish = 'content_filter';
    record.stopDetail = { category: str(body.promptFeedback.blockReason) };
    if (body.promptFeedback.blockReasonMessage) {
      record.stopDetail.message = str(body.promptFeedback.blockReasonMessage);
    }
    record.safety = body.promptFeedback;
  }
}

/** Joins streamed parts: neighbouring texts of one kind, and arguments that come in pieces. */
export class PartsFold {
  private readonly parts: Draft[] = [];
  private open: { part: Draft; args: PartialArgs } | null = null;

  push(part: Obj): void {
    if (isObject(part.functionCall)) this.pushCall(part, part.functionCall);
    else if (typeof part.text === 'string') this.pushText(part);
    else this.parts.push({ ...part });
  }

  private pushText(part: Obj): void {
    const last = this.parts.at(-1);
    const joins =
      last !== undefined &&
      typeof last.text === 'string' &&
      (last.thought === true) === (part.thought === true);
    if (joins && !last.thoughtSignature) {
      last.text = last.text + str(part.text);
      if (part.thoughtSignature) last.thoughtSignature = part.thoughtSignature;
    } else if (part.text !== '' || part.thoughtSignature) this.parts.push({ ...part });
  }

  private pushCall(part: Obj, call: Obj): void {
    // Only the first piece of a call has a name; a piece without willContinue is the last.
    if (call.name || this.open === null) {
      this.close();
      const { partialArgs: _, willContinue: __, ...whole } = call;
      const own: Draft = { ...part, functionCall: whole };
      this.parts.push(own);
      if (call.willContinue !== true && call.partialArgs === undefined) return;
      this.open = { part: own, args: new PartialArgs() };
    }
    for (const piece of list(call.partialArgs)) this.open.args.push(obj(piece));
    if (part.thoughtSignature) this.open.part.thoughtSignature = part.thoughtSignature;
    if (call.willContinue !== true) this.close();
  }

  private close(): void {
    if (this.open === null) return;
    const { part, args } = this.open;
    part.functionCall = { ...obj(part.functionCall), args: args.end(obj(obj(part.functionCall).args)) };
    this.open = null;
  }

  end(): readonly Obj[] {
    this.close();
    return this.parts;
  }
}

class CandidatesFold implements Fold {
  private readonly body: Draft = {};
  private readonly usage: Draft = {};
  private readonly candidates = new Map<unknown, { draft: Draft; parts: PartsFold }>();
  private finished = false;

  push(event: Obj): Taken {
    if (!Array.isArray(event.candidates) && !isObject(event.usageMetadata) && !event.promptFeedback)
      return 'foreign';
    const { candidates, usageMetadata, ...rest } = event;
    const another = rest.responseId && this.body.responseId && rest.responseId !== this.body.responseId;
    if (this.finished && another && list(candidates).length > 0) return 'restart';
    Object.assign(this.body, rest);
    // Cumulative, but some chunks only state the traffic type.
    Object.assign(this.usage, obj(usageMetadata));
    for (const entry of list(candidates)) this.pushCandidate(obj(entry));
    if (obj(event.promptFeedback).blockReason) this.finished = true;
    return 'taken';
  }

  private pushCandidate(candidate: Obj): void {
    const index = candidate.index ?? 0;
    let known = this.candidates.get(index);
    if (known === undefined) {
      known = { draft: {}, parts: new PartsFold() };
      this.candidates.set(index, known);
    }
    const { content, ...rest } = candidate;
    for (const part of list(obj(content).parts)) known.parts.push(obj(part));
    Object.assign(known.draft, rest);
    if (candidate.finishReason) this.finished = true;
  }

  end(): Folded {
    const candidates = [...this.candidates.values()].map(({ draft, parts }) => ({
      ...draft,
      content: { parts: parts.end() },
    }));
    return { body: { ...this.body, candidates, usageMetadata: this.usage }, complete: this.finished };
  }
}

/** Gemini and Vertex generateContent; every chunk of its stream is a small whole response. */
export const geminiGenerateContent: ApiReader = {
  api: 'gemini.generateContent',
  provider: 'gemini',
  recognise(value) {
    if (Array.isArray(value.candidates) || isObject(value.promptFeedback)) return 'either';
    if (!isObject(value.usageMetadata)) return null;
    return value.serverContent === undefined && value.toolCall === undefined ? 'either' : null;
  },
  read,
  fold: () => new CandidatesFold(),
};
