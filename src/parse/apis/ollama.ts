import type { ApiDescription, ApiNames } from '../api.ts';
import { itemAt, restate, type Streaming } from '../fold.ts';
import { isObject, type Obj, obj } from '../json.ts';
import { merge } from '../merge.ts';

const streaming: Streaming = {
  take(fold, event) {
    const { done, message, response, thinking, tool_calls, image } = event;
    if (typeof done !== 'boolean') return false;
    // Each response ends with `done: true`, so the next chunk belongs to another response.
    if (fold.done) return 'restart';
    // A tool call arrives whole, in one chunk.
    merge(itemAt(fold, 0), isObject(message) ? message : { response, thinking, tool_calls, image });
    // Only the first and the last chunk have top-level fields to copy: the chunks between them differ only in their text.
    if (!fold.started || done) restate(fold.body, event);
    fold.started = true;
    fold.done = done;
    return true;
  },
  close({ api, body }, [answer]) {
    if (api === 'ollama.chat') body.message = answer;
    // A stream that was cut while the model was thinking has no `response`. `readLevel` reads `thinking` only from a body with a text,
    // so an empty `response` is added.
    else Object.assign(body, { response: '' }, answer);
    return body;
  },
};

/** Ollama's own API: `/api/chat` and `/api/generate`, whole or as one JSON object a line. */
export const ollama: ApiDescription<`ollama.${string}`> = {
  api: 'ollama.',
  recognise({ done, response, message, model, created_at }) {
    if (typeof done !== 'boolean') return null;
    // Older servers end a chat with a chunk that has counts but no message.
    const isOllama = typeof response === 'string' || obj(message).role || (model && created_at);
    return !isOllama ? null : done ? 'either' : 'event';
  },
  familyOf: ({ message }: Obj) => (message ? 'chat' : 'generate'),
  streaming,
  readOwn(name, value, out, record) {
    if (name === 'image')
      out.content.push({ type: 'media', mediaType: 'image', data: value, raw: { image: value } });
    else if (typeof value === 'number') record.latencyMs = Math.round(value / 1e6);
  },
  // A request without a prompt only loads or unloads the model.
  finish: { load: 'other', unload: 'other' },
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: {
    model: 'model',
    created: 'created_at',
    message: 'message',
    text: 'response',
    stopReason: 'done_reason',
    error: 'error',
    own: 'image total_duration',
  },
  call: { id: 'id', name: 'name', input: 'arguments' },
  usage: { input: 'prompt_eval_count', output: 'eval_count', cached: 'prompt_eval_cached_count' },
};
