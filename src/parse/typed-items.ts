import { errorFrom } from './errors.ts';
import { isObject, list, type Obj, obj, objects, str, strOrNull } from './json.ts';
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
import type { Output, ParsedResponse, ToolUse } from './record.ts';
import { warn } from './warn.ts';

const MEDIA = /^(output_)?(image|image_url|audio|video|document)$/;
const CALL = /^(.*?)(_call|_approval_request)$/;
const RESULT = /_(result|output)$/;

/** The text of a string, of a text part, or of a list of them. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join('');
  return str(obj(value).text);
}

function readText(item: Obj, out: Output, phase: unknown): void {
  const part = addText(out, str(item.text));
  if (phase) part.phase = str(phase);
  const sources = item.citations ?? item.annotations;
  if (!sources) return;
  for (const source of objects(sources)) addCitation(out, part, source, source);
}

/** OpenAI: a list of summaries and texts; Gemini: one summary in parts; Anthropic and Mistral: one thought. */
function readReasoning(item: Obj, out: Output): void {
  const signature = item.signature ?? item.encrypted_content;
  const texts =
    item.type === 'reasoning'
      ? [...list(item.summary), ...list(item.content)]
      : [item.thinking ?? item.summary];
  if (texts.length === 0 && item.encrypted_content) addRedacted(out, item);
  else if (texts.length === 0) addReasoning(out, '');
  for (const [i, text] of texts.entries()) addReasoning(out, textOf(text), i === 0 ? signature : undefined);
}

function executorOf(item: Obj): ToolUse['executor'] {
  if (/^(computer|local_shell|apply_patch)_call$|^mcp_approval/.test(str(item.type))) return 'client';
  const local = item.type === 'shell_call' && (obj(item.environment).type ?? 'local') === 'local';
  return local || item.execution === 'client' ? 'client' : 'server';
}

function readBuiltin(item: Obj, name: string, out: Output): void {
  const mcp = name.startsWith('mcp');
  const input = item.input ?? item.arguments ?? item.action ?? item.operation ?? item.queries;
  const use = addTool(
    out,
    item.call_id ?? item.id,
    item.name ?? name,
    item.code === undefined ? input : { code: item.code },
    executorOf(item),
    mcp ? 'mcp' : 'builtin',
  );
  use.raw = item;
  const output = item.output ?? item.outputs ?? item.results ?? item.result;
  if (output !== undefined && output !== null) use.output = output;
  if (item.status === 'failed' || item.error) use.status = 'failed';
}

/**
 * Reads a block, item, step or part that names its own `type`: Anthropic, OpenAI Responses, Gemini Interactions and
 * Mistral all do, and their names do not collide.
 */
export function readTyped(item: Obj, out: Output, record: ParsedResponse): void {
  const type = str(item.type);
  switch (type) {
    case 'text':
    case 'output_text':
      readText(item, out, undefined);
      return;
    case 'message':
    case 'model_output':
      if (typeof item.content === 'string') addText(out, item.content);
      for (const part of objects(item.content)) {
        if (part.type === 'output_text') readText(part, out, item.phase);
        else readTyped(part, out, record);
      }
      if (isObject(item.error)) record.error ??= errorFrom(item.error);
      return;
    case 'tool_use':
    case 'function_call': {
      const use = addFunction(out, item.call_id ?? item.id, item.name, item.input ?? item.arguments);
      if (item.signature) use.signature = str(item.signature);
      if (item.caller || item.namespace || item.toolset_name) use.raw = item;
      return;
    }
    case 'custom_tool_call':
      addTool(out, item.call_id ?? item.id, item.name, str(item.input), 'client', 'custom');
      return;
    case 'reasoning':
    case 'thinking':
    case 'thought':
      readReasoning(item, out);
      return;
    case 'reasoning_text':
      addReasoning(out, str(item.text));
      return;
    case 'redacted_thinking':
      addRedacted(out, item);
      return;
    case 'refusal':
      addRefusal(out, str(item.refusal));
      return;
    case 'server_tool_use':
    case 'mcp_tool_use':
      readBuiltin(item, type, out);
      return;
    case 'compaction':
      out.content.push({ type, text: strOrNull(item.content), raw: item });
      return;
  }
  const call = CALL.exec(type);
  if (RESULT.test(type)) {
    const output = item.content ?? item.output ?? item.result ?? item.tools;
    const failed =
      item.is_error === true || item.status === 'failed' || str(obj(output).type).endsWith('_error');
    addToolResult(out, item.tool_use_id ?? item.call_id, output, failed, item);
  } else if (call !== null) readBuiltin(item, call[1] ?? type, out);
  else if (MEDIA.test(type)) {
    const data = item.data ?? item.uri ?? item.audio ?? obj(item.image_url).url;
    addMedia(out, item.mime_type ?? type, data, item, item.transcript);
  } else {
    addOther(out, type, item);
    warn(record.warnings, 'unknown_block', type);
  }
}
