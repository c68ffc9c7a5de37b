import { type Fold, itemAt, restate, type Streaming, start } from './fold.ts';
import { type Draft, isObject, list, type Obj, obj, objects, str, textOf } from './json.ts';
import { memo } from './memo.ts';
import { merge } from './merge.ts';
import { warn } from './warn.ts';

/** The last word of the type of an event of text; audio is not kept. */
const wordOf = /* @__PURE__ */ memo((type) => /[._](?!audio)([a-z]+)\.delta$/.exec(type)?.[1] ?? '');

const LISTS = ['content', 'summary'] as const;

/** Lists are objects by index until the item is closed, so that a wild index costs nothing. */
function byIndex(item: Obj): Obj {
  const open: Draft = { ...item };
  for (const key of LISTS) if (Array.isArray(item[key])) open[key] = { ...(item[key] as unknown[]) };
  return open;
}

/** The object at a place, new if there is none. */
function inner(node: Draft, place: unknown): Draft {
  const key = String(place);
  if (!isObject(node[key])) node[key] = {};
  return node[key] as Draft;
}

/** Adds the text of a delta where the last word of its type and the index it states say. */
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
  for (const part of objects(item.content)) (part as Draft).type ??= part.refusal ? 'refusal' : 'output_text';
  if (isObject(commands)) item.action = { ...obj(action), commands: Object.values(commands) };
  // Without its opening event an item shows its kind in its fields.
  item.type ??= content ? 'message' : item.arguments ? 'function_call' : 'reasoning';
  return item;
}

function visibleText(output: readonly unknown[]): string {
  return textOf(output.map((item) => obj(item).content));
}

/** OpenAI Responses; Realtime's `response.*` events have the same frame. */
export const responsesStreaming: Streaming = {
  take(fold, event) {
    const type = str(event.type);
    const word = wordOf(type);
    // Ids may rotate in mid-stream: only the position counts.
    const at = event.output_index ?? event.item_id;
    const { response } = event;
    if (!type.startsWith('response.')) return false;
    if (word) grow(itemAt(fold, at), word, event);
    else if (type === 'response.created') return start(fold, response);
    else if (event.item) itemAt(fold, at, byIndex(obj(event.item)));
    else if (event.annotation)
      merge(itemAt(fold, at), {
        content: { [String(event.content_index)]: { annotations: [event.annotation] } },
      });
    else {
      restate(fold.body, response);
      if (/^response\.(completed|failed|incomplete|done)$/.test(type)) fold.done = true;
    }
    return true;
  },
  close({ body, done, warnings }: Fold, items) {
    const output = items.map(closeItem);
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
