import { type Fold, itemAt, restate, type Streaming, start } from './fold.ts';
import { type Draft, isObject, list, type Obj, obj, objects, str, textOf } from './json.ts';
import { merge } from './merge.ts';
import { warn } from './warn.ts';

/** Where the text of a delta event goes; `#` is an index that the event states. */
const PLACES: Readonly<Record<string, readonly string[]>> = /* @__PURE__ */ Object.fromEntries(
  [
    ['output_text', 'content.#.text'],
    ['text', 'content.#.text'],
    ['refusal', 'content.#.refusal'],
    ['reasoning_text', 'content.#.text'],
    ['reasoning_summary_text', 'summary.#.text'],
    ['output_audio_transcript', 'content.#.transcript'],
    ['audio_transcript', 'content.#.transcript'],
    ['function_call_arguments', 'arguments'],
    ['mcp_call_arguments', 'arguments'],
    ['custom_tool_call_input', 'input'],
    ['code_interpreter_call_code', 'code'],
    ['apply_patch_call_operation_diff', 'operation.diff'],
    ['shell_call_command', 'action.commands.#'],
  ].map(([name, path = '']) => [`response.${name}.delta`, path.split('.')]),
);

const LISTS = ['content', 'summary'] as const;

/** Lists are objects by index until the item is closed, so that a wild index costs nothing. */
function byIndex(item: Obj): Obj {
  const open: Draft = { ...item };
  for (const key of LISTS) if (Array.isArray(item[key])) open[key] = { ...(item[key] as unknown[]) };
  return open;
}

function grow(item: Draft, path: readonly string[], index: unknown, text: unknown): void {
  let node = item;
  let key = '';
  for (let i = 0; i < path.length; i++) {
    if (i > 0) {
      if (!isObject(node[key])) node[key] = {};
      node = node[key] as Draft;
    }
    key = path[i] === '#' ? String(index) : (path[i] ?? '');
  }
  node[key] = str(node[key]) + str(text);
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
  return output.map((item) => textOf(obj(item).content)).join('');
}

/** OpenAI Responses; Realtime's `response.*` events have the same frame. */
export const responsesStreaming: Streaming = {
  take(fold, event) {
    const type = str(event.type);
    const path = PLACES[type];
    // Ids may rotate in mid-stream: only the position counts.
    const at = event.output_index ?? event.item_id;
    const index = event.content_index ?? event.summary_index ?? event.command_index ?? 0;
    const { response } = event;
    if (path) grow(itemAt(fold, at), path, index, event.delta);
    else if (!type.startsWith('response.')) return false;
    else if (type === 'response.created') return start(fold, response);
    else if (event.item) itemAt(fold, at, byIndex(obj(event.item)));
    else if (event.annotation)
      merge(itemAt(fold, at), { content: { [String(index)]: { annotations: [event.annotation] } } });
    else if (/^response\.(completed|failed|incomplete|done)$/.test(type)) {
      restate(restate(fold.body, { status: type.slice(9) }), response);
      fold.done = true;
    } else restate(fold.body, response);
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
