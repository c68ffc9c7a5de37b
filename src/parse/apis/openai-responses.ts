import type { ApiDescription, ApiNames } from '../api.ts';
import { type Fold, itemAt, restate, type Streaming, start } from '../fold.ts';
import { type Draft, isObject, list, memo, type Obj, obj, objects, str, textOf } from '../json.ts';
import { merge } from '../merge.ts';
import { warn } from '../reading.ts';

/** Returns the last word of the type of a delta event: `text` for `response.output_text.delta`. For audio, which the parser ignores, the result is empty. */
const wordOf = /* @__PURE__ */ memo((type) => /[._](?!audio)([a-z]+)\.delta$/.exec(type)?.[1] ?? '');

const LISTS = ['content', 'summary'] as const;

/** Copies an item, and turns its lists into objects whose keys are the indexes: a huge index in an event then makes no huge list. */
function byIndex(item: Obj): Obj {
  const open: Draft = { ...item };
  for (const key of LISTS) if (Array.isArray(item[key])) open[key] = { ...(item[key] as unknown[]) };
  return open;
}

/** Returns an item that may be changed. An item that arrived complete is the caller's object, so a copy replaces it first. */
function openItem(fold: Fold, at: unknown): Draft {
  const item = itemAt(fold, at);
  return fold.whole.delete(item) ? itemAt(fold, at, byIndex(item)) : item;
}

/** Returns the object under a key; creates it when there is none. */
function inner(node: Draft, place: unknown): Draft {
  const key = String(place);
  if (!isObject(node[key])) node[key] = {};
  return node[key] as Draft;
}

/** Appends the text of a delta event to a field of the item. The last word of the event's type and its indexes say which field. */
function grow(item: Draft, word: string, event: Obj): void {
  const { content_index, summary_index, command_index } = event;
  let node = item;
  let key = word;
  if (summary_index != null) node = inner(inner(item, 'summary'), summary_index);
  else if (content_index != null || word === 'text') node = inner(inner(item, 'content'), content_index ?? 0);
  else if (word === 'diff') node = inner(item, 'operation');
  else if (word === 'command') {
    node = inner(inner(item, 'action'), 'commands');
    key = String(command_index);
  }
  node[key] = str(node[key]) + str(event.delta);
}

function closeItem(item: Draft): Obj {
  const { content, action } = item;
  const { commands } = obj(action);
  for (const key of LISTS) if (item[key]) item[key] = Object.values(obj(item[key]));
  for (const part of objects(item.content)) {
    (part as Draft).type ??= part.refusal ? 'refusal' : part.transcript ? 'output_audio' : 'output_text';
  }
  if (isObject(commands)) item.action = { ...obj(action), commands: Object.values(commands) };
  // An item whose first event is missing has no type, so its other fields decide the type.
  item.type ??= content ? 'message' : item.arguments ? 'function_call' : 'reasoning';
  return item;
}

function visibleText(output: readonly unknown[]): string {
  return textOf(output.map((item) => obj(item).content));
}

const streaming: Streaming = {
  ownEvents: true,
  take(fold, event) {
    const type = str(event.type);
    const word = wordOf(type);
    // Some servers change the ids of items during a stream, so items are found by their index.
    const at = event.output_index ?? event.item_id;
    const { response } = event;
    if (!type.startsWith('response.')) return false;
    if (word) grow(openItem(fold, at), word, event);
    else if (type === 'response.created') return start(fold, response);
    else if (type === 'response.output_item.done' && isObject(event.item)) {
      fold.items.set(at, event.item as Draft);
      fold.whole.add(event.item);
    } else if (event.item) itemAt(fold, at, byIndex(obj(event.item)));
    else if (event.annotation)
      merge(openItem(fold, at), {
        content: { [String(event.content_index)]: { annotations: [event.annotation] } },
      });
    else {
      restate(fold.body, response);
      if (/^response\.(completed|failed|incomplete|done)$/.test(type)) fold.done = true;
    }
    return true;
  },
  close({ body, done, warnings, whole }: Fold, items) {
    const output = items.map((item) => (whole.has(item) ? item : closeItem(item)));
    const final = list(body.output);
    const lost = final.length === 0;
    const streamed = visibleText(output);
    if (done && items.length > 0 && (lost || (streamed && streamed !== visibleText(final)))) {
      warn(warnings, 'delta_final_mismatch');
    }
    if (!done || lost) body.output = output;
    return body;
  },
};

/** OpenAI Responses, and the `response.*` events of Realtime, which have the same shape. */
export const openaiResponses: ApiDescription<'openai.responses'> = {
  api: 'openai.responses',
  recognise: (v, object) =>
    object === 'response' || object === 'realtime.response' || Array.isArray(v.output) ? 'body' : null,
  streaming,
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: {
    id: 'id',
    model: 'model',
    created: 'created_at',
    tier: 'service_tier',
    status: 'status',
    output: 'output',
    incompleteDetails: 'incomplete_details status_details',
    error: 'error',
    usage: 'usage',
    serverTools: 'tool_usage',
  },
  part: { sources: 'annotations' },
  kind: {
    text: 'output_text',
    message: 'message',
    reasoning: 'reasoning',
    thought: 'reasoning_text',
    refusal: 'refusal',
    call: 'function_call',
    customCall: 'custom_tool_call',
    compaction: 'compaction',
  },
  call: {
    id: 'id',
    callId: 'call_id',
    name: 'name',
    input: 'arguments input action operation queries',
    code: 'code',
    extra: 'caller namespace',
  },
  source: { url: 'url', title: 'title filename' },
  usage: {
    input: 'input_tokens',
    output: 'output_tokens',
    total: 'total_tokens',
    cached: 'cached_tokens',
    cacheWritten: 'cache_write_tokens',
    reasoning: 'reasoning_tokens',
    modality: 'text_tokens image_tokens audio_tokens',
    inputDetails: 'input_tokens_details input_token_details',
    cacheDetails: 'cached_tokens_details',
    outputDetails: 'output_tokens_details output_token_details',
  },
};
