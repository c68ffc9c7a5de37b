import type { ApiReader, Fold, Folded, Taken } from './api.ts';
import { errorFrom } from './errors.ts';
import { type Draft, isObject, list, millis, type Obj, obj, str, strOrNull } from './json.ts';
import {
  addCitation,
  addFunction,
  addMedia,
  addOther,
  addReasoning,
  addRedacted,
  addRefusal,
  addText,
  addTool,
  addToolResult,
} from './output.ts';
import type { ParsedResponse, ToolUse, Warning } from './record.ts';
import { openAiUsage } from './usage.ts';
import { warn } from './warn.ts';

function readMessage(item: Obj, record: ParsedResponse): void {
  if (typeof item.content === 'string') addText(record, item.content);
  for (const entry of list(item.content)) {
    const part = obj(entry);
    if (part.type === 'output_text' || part.type === 'text') {
      const text = addText(record, str(part.text));
      if (item.phase) text.phase = str(item.phase);
      if (part.annotations) {
        for (const raw of list(part.annotations)) addCitation(record, text, obj(raw), obj(raw));
      }
    } else if (part.type === 'refusal') addRefusal(record, str(part.refusal));
    else if (part.type === 'output_audio' || part.type === 'audio') {
      addMedia(record, 'audio', part.data ?? part.audio, part, part.transcript);
    } else if (part.type === 'reasoning_text') addReasoning(record, str(part.text));
    else {
      addOther(record, str(part.type), part);
      warn(record.warnings, 'unknown_block', `message part ${str(part.type)}`);
    }
  }
}

function readReasoning(item: Obj, record: ParsedResponse): void {
  let found = false;
  for (const texts of [item.summary, item.content]) {
    for (const entry of list(texts)) {
      const part = addReasoning(record, str(obj(entry).text));
      if (!found && item.encrypted_content) part.signature = str(item.encrypted_content);
      found = true;
    }
  }
  if (found) return;
  if (item.encrypted_content) addRedacted(record, item);
  else addReasoning(record, '').raw = item;
}

function executorOf(item: Obj): ToolUse['executor'] {
  switch (item.type) {
    case 'computer_call':
    case 'local_shell_call':
    case 'apply_patch_call':
    case 'mcp_approval_request':
      return 'client';
    case 'shell_call':
      return obj(item.environment).type === 'local' || !isObject(item.environment) ? 'client' : 'server';
    case 'tool_search_call':
      return item.execution === 'client' ? 'client' : 'server';
  }
  return 'server';
}

const BUILTIN = new Set(
  'web_search file_search code_interpreter image_generation computer local_shell shell apply_patch tool_search'.split(
    ' ',
  ),
);
const SILENT = new Set(['mcp_list_tools', 'mcp_approval_response', 'program', 'additional_tools']);

function readBuiltin(item: Obj, type: string, record: ParsedResponse): void {
  const mcp = type.startsWith('mcp_');
  const name = type.replace(/_call$/, '');
  const input = item.arguments ?? item.action ?? item.operation ?? item.queries ?? item.code ?? item.input;
  const use = addTool(
    record,
    item.call_id ?? item.id,
    mcp ? item.name : name,
    typeof item.code === 'string' ? { code: item.code } : input,
    executorOf(item),
    mcp ? 'mcp' : 'builtin',
  );
  use.raw = item;
  const output = item.output ?? item.outputs ?? item.results ?? item.result;
  if (output !== undefined && output !== null) use.output = output;
  if (item.status === 'failed' || item.error) use.status = 'failed';
  if (!mcp && !BUILTIN.has(name)) warn(record.warnings, 'unknown_block', `output item ${type}`);
}

function readItem(item: Obj, record: ParsedResponse): void {
  const type = str(item.type);
  if (type === 'message') readMessage(item, record);
  else if (type === 'reasoning') readReasoning(item, record);
  else if (type === 'function_call') {
    const use = addFunction(record, item.call_id ?? item.id, item.name, item.arguments);
    if (item.caller || item.namespace) use.raw = item;
  } else if (type === 'custom_tool_call') {
    addTool(record, item.call_id ?? item.id, item.name, str(item.input), 'client', 'custom');
  } else if (type === 'compaction') record.content.push({ type: 'compaction', text: null, raw: item });
  else if (type.endsWith('_output')) {
    addToolResult(
      record,
      item.call_id,
      item.output ?? item.result ?? item.tools,
      item.status === 'failed',
      item,
    );
  } else if (type.endsWith('_call') || type === 'mcp_approval_request') readBuiltin(item, type, record);
  else {
    addOther(record, type, item);
    if (!SILENT.has(type)) warn(record.warnings, 'unknown_block', `output item ${type}`);
  }
}

function read(body: Obj, record: ParsedResponse): void {
  record.id = strOrNull(body.id);
  record.model = strOrNull(body.model);
  record.createdAt = millis(body.created_at);
  record.serviceTier = strOrNull(body.service_tier);
  record.status = strOrNull(body.status);
  const reason = obj(body.incomplete_details ?? body.status_details).reason;
  record.stopReason = strOrNull(reason) ?? record.status;
  if (body.status === 'queued' || body.status === 'in_progress') record.complete = false;
  if (isObject(body.usage)) {
    record.usage = openAiUsage(body.usage, record.warnings);
    if (record.usage !== null && isObject(body.tool_usage)) record.usage.serverTools = body.tool_usage;
  }
  for (const item of list(body.output)) readItem(obj(item), record);
  if (isObject(body.error)) record.error = errorFrom(body.error);
  else if (body.status === 'failed') record.error = errorFrom(obj(obj(body.status_details).error));
}

/** Where the text of each delta event goes: the item's own field, or a list of parts inside it. */
const FIELD: Readonly<Record<string, string>> = {
  function_call_arguments: 'arguments',
  mcp_call_arguments: 'arguments',
  custom_tool_call_input: 'input',
  code_interpreter_call_code: 'code',
};
const PART: Readonly<Record<string, readonly [at: string, index: string, type: string, field: string]>> = {
  output_text: ['content', 'content_index', 'output_text', 'text'],
  text: ['content', 'content_index', 'output_text', 'text'],
  refusal: ['content', 'content_index', 'refusal', 'refusal'],
  reasoning_text: ['content', 'content_index', 'reasoning_text', 'text'],
  reasoning_summary_text: ['summary', 'summary_index', 'summary_text', 'text'],
  output_audio_transcript: ['content', 'content_index', 'output_audio', 'transcript'],
  audio_transcript: ['content', 'content_index', 'output_audio', 'transcript'],
};

function itemTypeFor(kind: string): string {
  if (kind.startsWith('reasoning')) return 'reasoning';
  if (kind === 'custom_tool_call_input') return 'custom_tool_call';
  return kind in FIELD ? kind.replace(/_(arguments|code)$/, '') : 'message';
}

/** One output item under construction; parts are kept by index so that a wild index costs nothing. */
class Item {
  private readonly parts = { content: new Map<unknown, Draft>(), summary: new Map<unknown, Draft>() };
  private readonly commands = new Map<unknown, string>();
  private readonly annotations = new Map<unknown, unknown[]>();
  private readonly draft: Draft;

  constructor(item: Obj) {
    const { content, summary, ...draft } = item;
    this.draft = draft;
    for (const [i, part] of list(content).entries()) this.parts.content.set(i, { ...obj(part) });
    for (const [i, part] of list(summary).entries()) this.parts.summary.set(i, { ...obj(part) });
  }

  part(at: string, index: unknown, type: string): Draft {
    const parts = at === 'summary' ? this.parts.summary : this.parts.content;
    let part = parts.get(index);
    if (part === undefined) {
      part = { type };
      parts.set(index, part);
    }
    return part;
  }

  add(field: string, text: string): void {
    this.draft[field] = str(this.draft[field]) + text;
  }

  addDiff(text: string): void {
    const operation = obj(this.draft.operation);
    this.draft.operation = { ...operation, diff: str(operation.diff) + text };
  }

  addCommand(index: unknown, text: string): void {
    this.commands.set(index, (this.commands.get(index) ?? '') + text);
  }

  annotate(index: unknown, annotation: unknown): void {
    const known = this.annotations.get(index);
    if (known === undefined) this.annotations.set(index, [annotation]);
    else known.push(annotation);
  }

  end(): Obj {
    for (const [index, added] of this.annotations) {
      const part = this.part('content', index, 'output_text');
      part.annotations = [...list(part.annotations), ...added];
    }
    this.annotations.clear();
    const { content, summary } = this.parts;
    if (content.size > 0) this.draft.content = [...content.values()];
    if (summary.size > 0) this.draft.summary = [...summary.values()];
    if (this.commands.size > 0 && list(obj(this.draft.action).commands).length === 0) {
      this.draft.action = { ...obj(this.draft.action), commands: [...this.commands.values()] };
    }
    return this.draft;
  }
}

function textOf(items: readonly unknown[]): string {
  let text = '';
  for (const item of items) for (const part of list(obj(item).content)) text += str(obj(part).text);
  return text;
}

class ResponseFold implements Fold {
  private response: Obj = {};
  private firstId: unknown;
  private final: Draft | null = null;
  private readonly items = new Map<unknown, Item>();

  push(event: Obj): Taken {
    const type = str(event.type);
    if (!type.startsWith('response.')) return isRealtime(type) ? 'taken' : 'foreign';
    if (type.endsWith('.delta')) {
      this.pushDelta(type.slice(9, -6), event);
      return 'taken';
    }
    switch (type) {
      case 'response.created':
        if (this.final !== null || this.items.size > 0) return 'restart';
        this.response = obj(event.response);
        this.firstId = this.response.id;
        break;
      case 'response.queued':
      case 'response.in_progress':
        if (isObject(event.response)) this.response = event.response;
        break;
      case 'response.completed':
      case 'response.failed':
      case 'response.incomplete':
      case 'response.done':
        this.final = { status: type.slice(9), ...obj(event.response ?? this.response) };
        // Where ids rotate, the first one is the response's.
        this.final.id = this.firstId ?? this.final.id;
        break;
      case 'response.output_item.added':
      case 'response.output_item.done':
        this.items.set(this.key(event), new Item(obj(event.item)));
        break;
      case 'response.output_text.annotation.added':
        this.item(event, 'message').annotate(event.content_index, event.annotation);
        break;
    }
    return 'taken';
  }

  /** Ids may rotate in mid-stream: only the position counts. */
  private key(event: Obj): unknown {
    return event.output_index ?? event.item_id ?? this.items.size;
  }

  private item(event: Obj, type: string): Item {
    const key = event.output_index ?? event.item_id ?? 0;
    let item = this.items.get(key);
    if (item === undefined) {
      item = new Item({ type });
      this.items.set(key, item);
    }
    return item;
  }

  private pushDelta(kind: string, event: Obj): void {
    const text = str(event.delta);
    const place = PART[kind];
    const field = FIELD[kind];
    if (place !== undefined) {
      const [at, index, type, into] = place;
      const part = this.item(event, itemTypeFor(kind)).part(at, event[index], type);
      part[into] = str(part[into]) + text;
    } else if (field !== undefined) this.item(event, itemTypeFor(kind)).add(field, text);
    else if (kind === 'apply_patch_call_operation_diff') this.item(event, 'apply_patch_call').addDiff(text);
    else if (kind === 'shell_call_command')
      this.item(event, 'shell_call').addCommand(event.command_index, text);
  }

  end(warnings: Warning[]): Folded {
    const keys = [...this.items.keys()].sort((a, b) => Number(a) - Number(b) || 0);
    const output = keys.map((key) => this.items.get(key)?.end());
    if (this.final === null)
      return { body: { object: 'response', ...this.response, id: this.firstId, output }, complete: false };
    const final = list(this.final.output);
    if (final.length === 0 && output.length > 0) {
      warn(
        warnings,
        'delta_final_mismatch',
        'the final response has no output; the streamed items are shown',
      );
      return { body: { ...this.final, output }, complete: true };
    }
    const streamed = textOf(output);
    if (streamed !== '' && streamed !== textOf(final)) {
      warn(
        warnings,
        'delta_final_mismatch',
        'the streamed text differs from the final response, which is shown',
      );
    }
    return { body: this.final, complete: true };
  }
}

function isRealtime(type: string): boolean {
  return /^(conversation|session|input_audio_buffer|output_audio_buffer|rate_limits)\./.test(type);
}

/** OpenAI Responses; Realtime's `response.*` events have the same frame. */
export const openAiResponses: ApiReader = {
  api: 'openai.responses',
  provider: 'openai',
  recognise(value) {
    if (value.object === 'response' || value.object === 'realtime.response') return 'body';
    if (typeof value.type === 'string' && value.type.startsWith('response.')) return 'event';
    return Array.isArray(value.output) ? 'body' : null;
  },
  read,
  fold: () => new ResponseFold(),
};
