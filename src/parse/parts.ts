import { errorFrom } from './errors.ts';
import { isObject, list, type Obj, obj, objects, str, strOrNull, textOf } from './json.ts';
import {
  addCitation,
  addReasoning,
  addRedacted,
  addRefusal,
  addText,
  addTool,
  addToolResult,
} from './output.ts';
import type { Output, ParsedResponse, ToolUse } from './record.ts';
import { warn } from './warn.ts';

const MEDIA = /^(output_)?(image|image_url|audio|video|document)$|Data$/;
const CALL = /^(.*?)(_call|_approval_request)$/;
const RESULT = /(tool|function|Execution)(Result|Response)$|_(result|output)$/;
const FAILED = /error|fail|deadline/i;

function readText(item: Obj, out: Output, text: string, signature: unknown, phase: unknown): void {
  const part = addText(out, text);
  const sources = item.citations ?? item.annotations;
  if (signature) part.signature = str(signature);
  if (phase) part.phase = str(phase);
  for (const source of objects(sources)) addCitation(out, part, source);
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
  texts.forEach((text, i) => {
    addReasoning(out, textOf(text), i === 0 && signature);
  });
}

function executorOf(item: Obj, type: string): ToolUse['executor'] {
  const local = type === 'shell_call' && (obj(item.environment).type ?? 'local') === 'local';
  return local ||
    item.execution === 'client' ||
    /^(computer|local_shell|apply_patch)_call$|^mcp_approval/.test(type)
    ? 'client'
    : 'server';
}

/** A call of a client's tool. */
export function readCall(item: Obj, id: unknown, kind: 'function' | 'custom', out: Output): ToolUse {
  const input = item.input ?? item.arguments ?? item.args ?? item.parameters;
  return addTool(out, id, item.name, input, 'client', kind);
}

/** A call of a tool of the provider's own; `raw` is the whole part. */
export function readBuiltin(
  item: Obj,
  id: unknown,
  type: string,
  name: unknown,
  raw: Obj,
  out: Output,
): void {
  const input = item.input ?? item.arguments ?? item.args ?? item.action ?? item.operation ?? item.queries;
  const use = addTool(
    out,
    id,
    item.name ?? name,
    item.code ? { code: item.code } : input,
    executorOf(item, type),
    type.startsWith('mcp') ? 'mcp' : 'builtin',
  );
  use.raw = raw;
  const output = item.output ?? item.outputs ?? item.results ?? item.result;
  if (output != null) use.output = output;
  if (item.status === 'failed' || item.error) use.status = 'failed';
}

/**
 * Reads one piece of a response. A block, item, step or part names its own `type` (Anthropic, OpenAI Responses, Gemini
 * Interactions, Mistral), or the key of the object inside it does (Bedrock Converse, Gemini generateContent and Live);
 * the names do not collide.
 */
export function readPart(part: Obj, out: Output, record: ParsedResponse, phase?: unknown): void {
  const { text } = part;
  let type = str(part.type);
  let item = part;
  const signature = type ? part.signature : part.thoughtSignature;
  if (!type) {
    if (typeof text === 'string') type = part.thought ? 'reasoning_text' : 'text';
    else {
      for (const key in part) {
        if (!isObject(part[key])) continue;
        type = key;
        item = part[key] as Obj;
        break;
      }
      if (!type && signature) type = 'text';
    }
  }
  if (type === 'text' || type === 'output_text') {
    if (text || signature || part.type) readText(part, out, str(text), signature, phase);
    return;
  }
  const id = item.call_id ?? item.id ?? item.toolUseId;
  switch (type) {
    case 'citationsContent':
      readText(item, out, textOf(item.content), signature, phase);
      return;
    case 'message':
    case 'model_output':
      if (typeof item.content === 'string') addText(out, item.content);
      for (const inner of objects(item.content)) readPart(inner, out, record, item.phase);
      if (item.error) record.error ??= errorFrom(item.error);
      return;
    case 'tool_use':
    case 'toolUse':
    case 'function_call':
    case 'functionCall':
    case 'custom_tool_call': {
      if (item.type === 'server_tool_use') {
        readBuiltin(item, id, type, type, item, out);
        return;
      }
      const use = readCall(item, id, type === 'custom_tool_call' ? 'custom' : 'function', out);
      if (signature) use.signature = str(signature);
      if (item.caller || item.namespace || item.toolset_name) use.raw = item;
      return;
    }
    case 'reasoning':
    case 'thinking':
    case 'thought':
      readReasoning(item, out);
      return;
    case 'reasoningContent': {
      const said = isObject(item.reasoningText) ? item.reasoningText : item;
      if (item.redactedContent) addRedacted(out, item);
      else addReasoning(out, str(said.text), said.signature);
      return;
    }
    case 'reasoning_text':
      addReasoning(out, str(text), signature);
      return;
    case 'redacted_thinking':
      addRedacted(out, item);
      return;
    case 'refusal':
      addRefusal(out, str(item.refusal));
      return;
    case 'server_tool_use':
    case 'mcp_tool_use':
    case 'toolCall':
      readBuiltin(item, id, type, item.toolType ?? type, part, out);
      return;
    case 'executableCode':
      readBuiltin(item, id, type, 'code_execution', part, out);
      return;
    case 'compaction':
      out.content.push({ type, text: strOrNull(item.content), raw: item });
      return;
  }
  const call = CALL.exec(type);
  if (RESULT.test(type)) {
    const output = item.content ?? item.output ?? item.result ?? item.tools ?? item.response;
    const state = str(item.status) + str(item.outcome) + str(obj(output).type);
    // An item has an id of its own beside the call's.
    const callId = item === part ? (item.tool_use_id ?? item.call_id) : id;
    addToolResult(out, callId, output, Boolean(item.is_error) || FAILED.test(state), part);
  } else if (call) readBuiltin(item, id, type, call[1], part, out);
  else if (MEDIA.test(type)) {
    const { format, source, transcript } = item;
    out.content.push({
      type: 'media',
      mediaType: strOrNull(item.mime_type ?? item.mimeType ?? (format ? `${type}/${str(format)}` : type)),
      data:
        item.data ??
        item.uri ??
        item.fileUri ??
        item.audio ??
        obj(item.image_url).url ??
        obj(source).bytes ??
        source,
      raw: part,
      ...(transcript ? { transcript: str(transcript) } : {}),
    });
  } else {
    const kind = type || Object.keys(part)[0];
    if (!kind) return;
    out.content.push({ type: 'other', kind, raw: part });
    warn(record.warnings, 'unknown_block', kind);
  }
}
