import type { ApiDescription, ApiNames } from '../api.ts';
import { addCitations } from '../citations.ts';
import { type Draft, isObject, list, type Obj, obj, objects } from '../json.ts';
import { listStreaming } from '../list-streaming.ts';
import { addPart, merge } from '../merge.ts';
import { addStopDetail } from '../output.ts';
import { setPartialArg } from '../partial-args.ts';
import { fromPython } from '../python-dump.ts';
import type { Output, ResponseFacts } from '../reading.ts';

/** Joins streamed parts into the parts of a whole response. The arguments of a call may arrive in pieces. */
export function closeParts(parts: readonly Obj[]): Obj[] {
  let args: Draft | null = null;
  let openPath = '';
  const whole: Draft[] = [];
  for (const part of parts) {
    const call = part.functionCall;
    if (!isObject(call)) {
      addPart(whole, part);
      continue;
    }
    // Only the first piece of a call has a name. The last piece has no `willContinue`.
    if (call.name || !args) {
      const copy = merge({}, part);
      args = { ...obj(call.args) };
      copy.functionCall = { id: call.id, name: call.name, args };
      whole.push(copy);
    }
    for (const piece of objects(call.partialArgs)) openPath = setPartialArg(args, piece, openPath);
    if (!call.willContinue) args = null;
  }
  return whole;
}

const chunks = listStreaming({
  name: 'candidates',
  choicesIn: ({ candidates, usageMetadata, promptFeedback }) =>
    candidates ?? ((usageMetadata ?? promptFeedback) ? [] : undefined),
  takeRest: ({ promptFeedback }) => Boolean(obj(promptFeedback).blockReason),
  close(candidate) {
    if (isObject(candidate.content))
      candidate.content = { parts: closeParts(objects(candidate.content.parts)) };
  },
});

/** Reads the fields that only Gemini has. */
export function readOwn(name: string, value: unknown, out: Output, record: ResponseFacts): void {
  switch (name) {
    case 'finishMessage':
      addStopDetail(out, 'message', value);
      break;
    case 'citationMetadata':
      addCitations(out, obj(value).citations ?? obj(value).citationSources);
      break;
    case 'groundingMetadata':
      record.grounding ??= value;
      addCitations(out, obj(value).groundingChunks);
      break;
    case 'promptFeedback': {
      const { blockReason, blockReasonMessage } = obj(value);
      if (!blockReason) return;
      record.finish = 'content_filter';
      record.safety = value;
      addStopDetail(out, 'category', blockReason);
      addStopDetail(out, 'message', blockReasonMessage);
    }
  }
}

/** Gemini generateContent, of the Gemini API and of Vertex. */
export const geminiGenerateContent: ApiDescription<'gemini.generateContent'> = {
  api: 'gemini.generateContent',
  recognise(value) {
    if (Array.isArray(value.candidates)) return 'either';
    const v = fromPython(value);
    return isObject(v.promptFeedback) ||
      (isObject(v.usageMetadata) && (v.serverContent ?? v.toolCall) === undefined)
      ? 'either'
      : null;
  },
  claimsError: (_, { status }) => typeof status === 'string',
  asSent: fromPython,
  choicesIn: ({ candidates }) => list(candidates),
  streaming: { ...chunks, take: (fold, event) => chunks.take(fold, fromPython(event)) },
  readOwn,

  finish: {
    // Some clients store the numbers of the enum `FinishReason` instead of its names. From 6 on, the Gemini API and Vertex give a number different
    // meanings. So 6 and 9 are not listed, but 7 and 8 are, because both APIs use them for content filters.
    1: 'stop',
    2: 'length',
    3: 'content_filter',
    4: 'content_filter',
    5: 'other',
    7: 'content_filter',
    8: 'content_filter',
    recitation: 'content_filter',
    blocklist: 'content_filter',
    spii: 'content_filter',
    model_armor: 'content_filter',
    language: 'other',
    no_image: 'other',
  },
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: {
    id: 'responseId',
    model: 'modelVersion',
    created: 'createTime',
    content: 'content',
    stopReason: 'finishReason',
    safety: 'safetyRatings',
    usage: 'usageMetadata',
    own: 'finishMessage citationMetadata groundingMetadata promptFeedback',
  },
  part: { thought: 'thought', signature: 'thoughtSignature' },
  kind: { call: 'functionCall', builtin: 'toolCall', code: 'executableCode' },
  call: { id: 'id', name: 'name', input: 'args', code: 'code' },
  source: { url: 'uri sourceUri', title: 'title' },
  usage: {
    input: 'promptTokenCount',
    output: 'candidatesTokenCount',
    total: 'totalTokenCount',
    cached: 'cachedContentTokenCount',
    thoughts: 'thoughtsTokenCount',
    toolPrompt: 'toolUsePromptTokenCount',
    inputDetails: 'promptTokensDetails',
    cacheDetails: 'cacheTokensDetails',
    outputDetails: 'candidatesTokensDetails',
    tier: 'serviceTier trafficType',
  },
};
