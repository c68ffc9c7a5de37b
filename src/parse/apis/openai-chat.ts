import type { ApiDescription, ApiNames } from '../api.ts';
import { restate } from '../fold.ts';
import { type Draft, isObject, list, type Obj, obj, objects } from '../json.ts';
import { listStreaming } from '../list-streaming.ts';
import { merge, mergeParts } from '../merge.ts';

/**
 * Joins the pieces of streamed tool calls. Pieces of one call have the same index, or without an index the same id. A piece with
 * neither continues the last call, unless that call and the piece both have a name. Some servers give every parallel call the index 0,
 * so a piece with another id and a name begins another call.
 */
export function mergeToolCalls(deltas: readonly Obj[]): Draft[] {
  const calls: Draft[] = [];
  const known = new Map<unknown, Draft>();
  for (const delta of deltas) {
    const { index, id } = delta;
    let call = known.get(index ?? id ?? '');
    // A piece with neither index nor id begins another call when it has a name and the last call has one already.
    const isOther = id ? call?.id && call.id !== id : index == null && obj(call?.function).name;
    if (!call || (isOther && obj(delta.function).name)) {
      call = {};
      calls.push(call);
    }
    merge(call, delta);
    known.set(index, call).set(id, call).set('', call);
  }
  return calls;
}

function closeMessage(message: Draft): Draft {
  const { content, tool_calls, reasoning_details } = message;
  if (Array.isArray(content)) message.content = mergeParts(content);
  if (tool_calls) message.tool_calls = mergeToolCalls(objects(tool_calls));
  if (reasoning_details) message.reasoning_details = mergeParts(objects(reasoning_details));
  return message;
}

/** OpenAI Chat Completions, and the services that use its format. */
export const openaiChat: ApiDescription<'openai.chat'> = {
  api: 'openai.chat',
  recognise({ choices }, object) {
    const chunk = object === 'chat.completion.chunk';
    if (!Array.isArray(choices)) return chunk ? 'event' : null;
    const first = obj(choices[0]);
    const { message } = first;
    if (message && !chunk && !first.delta) return 'body';
    // Legacy completions have a text instead of a message.
    if (object === 'text_completion' || (!message && !first.delta && first.text !== undefined)) return null;
    return chunk || !message ? (chunk || first.delta ? 'event' : 'either') : 'either';
  },
  choicesIn: ({ choices }) => list(choices),
  promisesDone: true,
  streaming: listStreaming({
    name: 'choices',
    choicesIn: ({ choices, usage, x_groq }) => choices ?? ((usage ?? x_groq) ? [] : undefined),
    repeatsHead: ({ choices, usage, x_groq, error }) => Boolean(choices && !usage && !x_groq && !error),
    takeRest({ x_groq }, body) {
      // Groq sends usage and errors in a field of its own.
      if (x_groq) restate(body, x_groq);
      return false;
    },
    close(choice, body) {
      const { delta } = choice;
      // Perplexity sends an empty `delta` in addition to the `message`.
      const message = obj(delta).content ? delta : (choice.message ?? delta);
      if (isObject(message)) choice.message = closeMessage(message);
      // Moonshot sends the usage in the choice.
      body.usage ??= choice.usage;
    },
  }),
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: {
    id: 'id',
    model: 'model',
    created: 'created',
    tier: 'service_tier',
    message: 'message',
    content: 'content',
    finishReason: 'finish_reason',
    stopReason: 'stop_reason',
    error: 'error',
    safety: 'content_filter_results prompt_filter_results moderation',
    usage: 'usage',
    // Perplexity lists its sources outside the choices, as objects and again as URLs.
    sources: 'search_results',
    addresses: 'citations',
  },
  part: { sources: 'annotations citations' },
  kind: { text: 'text', reasoning: 'thinking', refusal: 'refusal' },
  call: { id: 'id', name: 'name', input: 'arguments input parameters' },
  source: { url: 'url', title: 'title' },
  usage: {
    prompt: 'prompt_tokens',
    completion: 'completion_tokens',
    total: 'total_tokens',
    cached: 'cached_tokens num_cached_tokens prompt_cache_hit_tokens',
    cacheWritten: 'cache_write_tokens',
    reasoning: 'reasoning_tokens',
    modality: 'text_tokens image_tokens audio_tokens',
    inputDetails: 'prompt_tokens_details',
    outputDetails: 'completion_tokens_details',
  },
};
