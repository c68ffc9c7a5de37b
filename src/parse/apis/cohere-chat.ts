import type { ApiDescription, ApiNames } from '../api.ts';
import { itemAt, restate, type Streaming, start } from '../fold.ts';
import { isObject, type Obj, obj, objects, str } from '../json.ts';
import { merge } from '../merge.ts';
import { mergeToolCalls } from './openai-chat.ts';

/** The key of the item that holds the plan, the calls and the citations. Calls are not items themselves, because their indexes overlap those of content blocks. */
const MESSAGE = 'message';

const streaming: Streaming = {
  ownEvents: true,
  take(fold, event) {
    const message = obj(obj(event.delta).message);
    switch (event.type) {
      case 'content-delta':
      case 'content-start': {
        const content = obj(message.content);
        // Some servers send a thought and the answer under one index, so the kind is part of the key.
        const kind = content.type ?? (content.thinking === undefined ? 'text' : 'thinking');
        const block = itemAt(fold, `${event.index} ${kind}`);
        block.type = kind;
        // Nearly every event continues a text, and this is faster than `merge`.
        if (typeof block.text === 'string') block.text += str(content.text);
        else merge(block, content);
        break;
      }
      case 'tool-plan-delta':
        merge(itemAt(fold, MESSAGE), { tool_plan: message.tool_plan ?? message.toolPlan });
        break;
      case 'tool-call-start':
      case 'tool-call-delta':
        // An event has one call as an object. A whole response has a list of calls.
        merge(itemAt(fold, MESSAGE), {
          tool_calls: [{ index: event.index, ...obj(message.tool_calls ?? message.toolCalls) }],
        });
        break;
      case 'citation-start':
        merge(itemAt(fold, MESSAGE), { citations: [message.citations] });
        break;
      case 'message-start':
        return start(fold, { id: event.id });
      case 'message-end':
        restate(fold.body, event.delta);
        fold.done = true;
        break;
      default:
        return /^(content|tool-call|citation)-end$|^debug$/.test(str(event.type));
    }
    return true;
  },
  close({ body, items }, blocks) {
    const message = items.get(MESSAGE) ?? {};
    message.content = blocks.filter((block) => block.text || block.thinking);
    if (message.tool_calls) message.tool_calls = mergeToolCalls(objects(message.tool_calls));
    body.message = message;
    return body;
  },
};

/** Matches finish reasons of Cohere, which are in capitals. OpenAI's are not, so a single choice of OpenAI is not read as a Cohere body. */
const REASON = /^[A-Z_]+$/;

/**
 * Cohere v2 chat, also on Bedrock (InvokeModel), and in the camelCase of Cohere's TypeScript SDK. `bedrock-invoke.ts` reads v1, which
 * has the shape of Command R on Bedrock.
 */
export const cohereChat: ApiDescription<'cohere.chat'> = {
  api: 'cohere.chat',
  recognise: (v: Obj) =>
    isObject(v.message) && REASON.test(str(v.finish_reason ?? v.finishReason)) ? 'body' : null,
  streaming,
  finish: { timeout: 'error' },
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: {
    id: 'id',
    message: 'message',
    finishReason: 'finish_reason',
    stopReason: 'finishReason',
    error: 'error',
    usage: 'usage',
  },
  kind: { text: 'text', reasoning: 'thinking' },
  call: { id: 'id', name: 'name', input: 'arguments' },
  source: { url: 'url', title: 'title', text: 'text' },
  usage: {
    counts: 'tokens',
    billed: 'billed_units billedUnits',
    input: 'input_tokens inputTokens',
    output: 'output_tokens outputTokens',
    cached: 'cached_tokens cachedTokens',
  },
};
