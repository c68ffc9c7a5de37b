import type { ApiDescription, ApiNames } from '../api.ts';
import { closeArguments, itemAt, restate, type Streaming, start } from '../fold.ts';
import { type Draft, isObject, obj, strOrNull } from '../json.ts';
import { merge } from '../merge.ts';
import { addStopDetail } from '../output.ts';

const streaming: Streaming = {
  ownEvents: true,
  take(fold, event) {
    const block = event.contentBlockDelta ?? event.contentBlockStart;
    if (block) {
      const { delta, start: opening, contentBlockIndex } = obj(block);
      const piece = obj(delta ?? opening);
      const item = itemAt(fold, contentBlockIndex);
      const { text, citation, toolResult } = piece;
      // Citations and contents of tool results are collected in lists. Every other delta has the shape of its block, so it is merged.
      if (typeof text === 'string' && typeof item.text === 'string') item.text += text;
      else if (citation) merge(item, { citations: [citation] });
      else if (Array.isArray(toolResult)) merge(item, { toolResult: { content: toolResult } });
      else merge(item, piece);
      return true;
    }
    if (event.messageStart) return start(fold, null);
    if (event.metadata && (fold.items.size > 0 || obj(event.metadata).metrics)) {
      // The event with the token counts is the last event of the response.
      restate(fold.body, event.metadata);
      fold.done = true;
    } else if (event.messageStop) restate(fold.body, event.messageStop);
    else return Boolean(event.contentBlockStop);
    return true;
  },
  close({ body }, blocks) {
    for (const { toolUse } of blocks) {
      if (isObject(toolUse)) (toolUse as Draft).input = closeArguments(toolUse.input);
    }
    body.output = { message: { content: blocks } };
    return body;
  },
};

/** Bedrock Converse. The bodies and streams of Nova with InvokeModel have the same shape. */
export const bedrockConverse: ApiDescription<'bedrock.converse'> = {
  api: 'bedrock.converse',
  recognise: (v) => (isObject(obj(v.output).message) || (v.stopReason && isObject(v.usage)) ? 'body' : null),
  streaming,
  readOwn(name, value, out, record) {
    switch (name) {
      case '$metadata':
      case 'ResponseMetadata':
        record.id ??= strOrNull(obj(value).requestId ?? obj(value).RequestId);
        break;
      case 'serviceTier':
        record.serviceTier = strOrNull(obj(value).type);
        break;
      case 'additionalModelResponseFields':
        addStopDetail(out, 'sequence', obj(value).stop_sequence);
        break;
      case 'trace': {
        const { guardrail, promptRouter } = obj(value);
        if (guardrail) record.safety ??= guardrail;
        record.model ??= strOrNull(obj(promptRouter).invokedModelId);
      }
    }
  },
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: {
    output: 'output',
    stopReason: 'stopReason',
    usage: 'usage',
    metrics: 'metrics',
    own: '$metadata ResponseMetadata serviceTier additionalModelResponseFields trace',
  },
  kind: { cited: 'citationsContent', thought: 'reasoningContent', call: 'toolUse' },
  call: { id: 'toolUseId', name: 'name', input: 'input' },
  source: { title: 'title', text: 'sourceContent text' },
  usage: {
    input: 'inputTokens',
    output: 'outputTokens',
    total: 'totalTokens',
    cacheRead: 'cacheReadInputTokens cacheReadInputTokenCount',
    cacheWrite: 'cacheWriteInputTokens cacheWriteInputTokenCount',
    serverTools: 'serverToolUsage',
    cacheTtlList: 'cacheDetails',
  },
};
