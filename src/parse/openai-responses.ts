import type { ApiReader } from './api.ts';
import { errorFrom } from './errors.ts';
import { readHead, readStatus } from './head.ts';
import { itemFold, type Step } from './item-fold.ts';
import { type Draft, isObject, list, type Obj, obj, objects, str, strOrNull } from './json.ts';
import type { ParsedResponse, Warning } from './record.ts';
import { readTyped, textOf } from './typed-items.ts';
import { warn } from './warn.ts';

function read(body: Obj, record: ParsedResponse): void {
  readHead(body, record, 'openai');
  readStatus(body, record);
  const details = obj(body.incomplete_details ?? body.status_details);
  record.stopReason = strOrNull(details.reason) ?? record.status;
  if (record.usage && body.tool_usage) record.usage.serverTools = body.tool_usage;
  for (const item of objects(body.output)) readTyped(item, record, record);
  if (body.status === 'failed') record.error ??= errorFrom(details.error);
}

/** Where the text of a delta event goes; `#` is an index that the event states. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  'response.output_text.delta': ['content', '#', 'text'],
  'response.text.delta': ['content', '#', 'text'],
  'response.refusal.delta': ['content', '#', 'refusal'],
  'response.reasoning_text.delta': ['content', '#', 'text'],
  'response.reasoning_summary_text.delta': ['summary', '#', 'text'],
  'response.output_audio_transcript.delta': ['content', '#', 'transcript'],
  'response.audio_transcript.delta': ['content', '#', 'transcript'],
  'response.function_call_arguments.delta': ['arguments'],
  'response.mcp_call_arguments.delta': ['arguments'],
  'response.custom_tool_call_input.delta': ['input'],
  'response.code_interpreter_call_code.delta': ['code'],
  'response.apply_patch_call_operation_diff.delta': ['operation', 'diff'],
  'response.shell_call_command.delta': ['action', 'commands', '#'],
};

function stepOf(event: Obj): Step | null {
  const type = str(event.type);
  const path = PLACES[type];
  // Ids may rotate in mid-stream: only the position counts.
  const at = event.output_index ?? event.item_id;
  const index = event.content_index ?? event.summary_index ?? event.command_index ?? 0;
  if (path) return { at, path, index, text: event.delta };
  switch (type) {
    case 'response.created':
      return { start: true, head: event.response };
    case 'response.output_item.added':
    case 'response.output_item.done':
      return { at, open: byIndex(obj(event.item)) };
    case 'response.output_text.annotation.added':
      return { at, piece: { content: { [String(index)]: { annotations: [event.annotation] } } } };
    case 'response.completed':
    case 'response.failed':
    case 'response.incomplete':
    case 'response.done':
      return { head: { status: type.slice(9), ...obj(event.response) }, done: true };
  }
  return type.startsWith('response.') ? { head: event.response } : null;
}

/** Lists are objects by index until the item is closed, so that a wild index costs nothing. */
function byIndex(item: Obj): Obj {
  const open: Draft = { ...item };
  for (const key of LISTS) if (Array.isArray(item[key])) open[key] = { ...(item[key] as unknown[]) };
  return open;
}

const LISTS = ['content', 'summary'] as const;

function closeItem(item: Draft): Obj {
  const { content, action } = item;
  for (const key of LISTS) if (item[key]) item[key] = Object.values(obj(item[key]));
  for (const part of objects(item.content)) (part as Draft).type ??= part.refusal ? 'refusal' : 'output_text';
  if (isObject(obj(action).commands))
    item.action = { ...obj(action), commands: Object.values(obj(obj(action).commands)) };
  // Without its opening event an item shows its kind in its fields.
  item.type ??= content ? 'message' : item.arguments ? 'function_call' : 'reasoning';
  return item;
}

function visibleText(output: readonly unknown[]): string {
  return output.map((item) => textOf(obj(item).content)).join('');
}

function close(body: Draft, items: Draft[], done: boolean, warnings: Warning[]): Obj {
  const output = items.map(closeItem);
  const final = list(body.output);
  const lost = final.length === 0;
  const streamed = visibleText(output);
  if (done && items.length > 0 && (lost || (streamed && streamed !== visibleText(final)))) {
    warn(warnings, 'delta_final_mismatch', '');
  }
  return done && !lost ? body : { ...body, output };
}

/** OpenAI Responses; Realtime's `response.*` events have the same frame. */
export const openAiResponses: ApiReader = {
  api: 'openai.responses',
  recognise(value) {
    const { object, type } = value;
    if (object === 'response' || object === 'realtime.response') return 'body';
    if (typeof type === 'string' && type.startsWith('response.')) return 'event';
    return Array.isArray(value.output) ? 'body' : null;
  },
  read,
  fold: itemFold({ stepOf, close }),
};
