import { addCitations } from './citations.ts';
import { errorFrom } from './errors.ts';
import { isObject, list, type Obj, obj, objects, str, strOrNull, textOf } from './json.ts';
import { addReasoning, addRedacted, addRefusal, addText, addTool, addToolResult } from './output.ts';
import { type Output, type ResponseFacts, type ToolUse, warn } from './reading.ts';

const MEDIA = /^(output_)?(image|image_url|audio|video|document)$|Data$/;
const BUILTIN_CALL = /^(.*?)(_call|_approval_request)$/;
const RESULT = /(tool|function|Execution)(Result|Response)$|_(result|output)$/;
const FAILED = /error|fail|deadline/i;

function readText(out: Output, text: unknown, signature: unknown, phase: unknown, sources: unknown): void {
  const part = addText(out, textOf(text));
  if (signature) part.signature = str(signature);
  if (phase) part.phase = str(phase);
  if (sources) addCitations(out, sources, part);
}

/** Reads reasoning. OpenAI sends a list of summaries and a list of texts, Gemini one summary in parts, Anthropic and Mistral one thought. */
function readReasoning(out: Output, item: Obj): void {
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

/**
 * Returns who runs a tool that the provider defines. The client runs computer, shell and patch tools, unless the item names a remote
 * environment. It also answers MCP approval requests, and runs the items with `execution: 'client'`.
 */
function executorOf(item: Obj, type: string): ToolUse['executor'] {
  const local = (obj(item.environment).type ?? 'local') === 'local';
  return (local && /^(computer|(local_)?shell|apply_patch)_call$|^mcp_approval/.test(type)) ||
    item.execution === 'client'
    ? 'client'
    : 'server';
}

/**
 * Reads a tool call.
 *
 * A comment such as `// call.id` names the meaning of the `case` labels below it, a `CallField` of `api.ts`. The labels are generated: see `ApiNames`.
 *
 * @param outerId The id of the call, when the response has it outside the item.
 * @param outerName The name to use when the item has no name.
 */
export function readCall(
  out: Output,
  item: Obj,
  kind: ToolUse['kind'] = 'function',
  outerId?: unknown,
  outerName?: unknown,
  executor: ToolUse['executor'] = 'client',
): ToolUse {
  let id = outerId;
  let called = outerName;
  let input: unknown;
  let raw: unknown;
  for (const name in item) {
    const value = item[name];
    if (value == null) continue;
    switch (name) {
      // call.id
      case 'id':
      case 'toolUseId':
        id ??= value;
        break;
      // call.callId
      case 'call_id':
        // In OpenAI Responses `id` is the id of the item, `call_id` that of the call.
        id = value || id;
        break;
      // call.name
      case 'name':
        called = value;
        break;
      // call.input
      case 'input':
      case 'parameters':
      case 'arguments':
      case 'args':
      case 'action':
      case 'operation':
      case 'queries':
        input ??= value;
        break;
      // call.code
      case 'code':
        input = { code: value };
        break;
      // call.extra
      case 'caller':
      case 'toolset_name':
      case 'namespace':
        raw = item;
    }
  }
  const use = addTool(out, id, called, input, executor, kind);
  if (raw) use.raw = raw;
  return use;
}

/** Reads a call of one of the provider's tools. `raw`, the whole part, becomes `raw` of the `ToolUse`. */
export function readBuiltin(out: Output, item: Obj, type: string, name: unknown, raw: Obj): void {
  const kind = type.startsWith('mcp') ? 'mcp' : 'builtin';
  const use = readCall(out, item, kind, undefined, name, executorOf(item, type));
  const output = item.output ?? item.outputs ?? item.results ?? item.result;
  use.raw = raw;
  if (output != null) use.output = output;
  if (item.status === 'failed' || item.error) use.status = 'failed';
}

/** Reads a call of one of the caller's tools, or of a provider's tool that has the same shape. */
function readOwnCall(
  out: Output,
  part: Obj,
  item: Obj,
  type: string,
  kind: ToolUse['kind'],
  signature: unknown,
): void {
  // xAI reports its own search as a custom tool whose call id starts with `xs_`.
  if ((item !== part && item.type === 'server_tool_use') || str(item.call_id).startsWith('xs_')) {
    readBuiltin(out, item, type, type, item);
    return;
  }
  const use = readCall(out, item, kind);
  if (signature) use.signature = str(signature);
}

/**
 * Reads one part of a response. Providers call it a block, item, step or part. Its kind is the field `type` (Anthropic, OpenAI Responses,
 * Gemini Interactions, Mistral, Cohere), or the key of the object inside it (Bedrock Converse, Gemini generateContent and Live). No
 * two APIs use one name for different kinds.
 */
export function readPart(out: Output, part: Obj, record: ResponseFacts, phase?: unknown): void {
  let type = '';
  let key = '';
  let text: unknown;
  let thought: unknown;
  let signature: unknown;
  let sources: unknown;
  for (const name in part) {
    const value = part[name];
    switch (name) {
      case 'type':
        type = str(value);
        break;
      case 'text':
        text = value;
        break;
      // part.thought
      case 'thought':
        thought = value;
        break;
      // part.signature
      case 'signature':
      case 'thoughtSignature':
        signature = value;
        break;
      // part.sources
      case 'citations':
      case 'annotations':
        sources ??= value;
        break;
      default:
        if (!key && isObject(value)) key = name;
    }
  }
  let item = part;
  if (!type) {
    if (typeof text === 'string' || (!key && (signature ?? sources))) {
      if (thought) addReasoning(out, str(text), signature);
      else if (text || signature || sources) readText(out, text, signature, phase, sources);
      return;
    }
    type = key;
    item = obj(part[key]);
  }
  // A comment such as `// kind.text` names the meaning of the `case` labels below it, a `PartKind` of `api.ts`. The labels are generated: see `ApiNames`.
  switch (type) {
    // kind.text
    case 'text':
    case 'output_text':
      readText(out, str(text), signature, phase, sources);
      return;
    // kind.call
    case 'tool_use':
    case 'toolUse':
    case 'functionCall':
    case 'function_call':
      readOwnCall(out, part, item, type, 'function', signature);
      return;
    // kind.customCall
    case 'custom_tool_call':
      readOwnCall(out, part, item, type, 'custom', signature);
      return;
    // kind.message
    case 'model_output':
    case 'message':
      if (typeof item.content === 'string') addText(out, item.content);
      for (const inner of objects(item.content)) readPart(out, inner, record, item.phase);
      if (item.error) record.error ??= errorFrom(item.error);
      return;
    // kind.cited
    case 'citationsContent':
      readText(out, item.content, signature, phase, item.citations);
      return;
    // kind.reasoning
    case 'thinking':
    case 'thought':
    case 'reasoning':
      readReasoning(out, item);
      return;
    // kind.thought
    case 'reasoningContent':
    case 'reasoning_text': {
      const thoughtText = isObject(item.reasoningText) ? item.reasoningText : item;
      if (item.redactedContent) addRedacted(out, item);
      else addReasoning(out, str(thoughtText.text), thoughtText.signature);
      return;
    }
    // kind.redacted
    case 'redacted_thinking':
      addRedacted(out, item);
      return;
    // kind.refusal
    case 'refusal':
      addRefusal(out, str(item.refusal));
      return;
    // kind.builtin
    case 'server_tool_use':
    case 'mcp_tool_use':
    case 'toolCall':
      readBuiltin(out, item, type, item.toolType ?? type, part);
      return;
    // kind.code
    case 'executableCode':
      readBuiltin(out, item, type, 'code_execution', part);
      return;
    // kind.compaction
    case 'compaction':
      out.content.push({ type: 'compaction', text: strOrNull(item.content), raw: item });
      return;
  }
  const call = BUILTIN_CALL.exec(type);
  if (RESULT.test(type)) {
    const output = item.content ?? item.output ?? item.result ?? item.tools ?? item.response;
    const state = str(item.status) + str(item.outcome) + str(obj(output).type);
    // When the part itself is the result, its `id` names the result, not the call.
    const callId = item.tool_use_id ?? item.call_id ?? (item === part ? null : (item.id ?? item.toolUseId));
    addToolResult(out, callId, output, Boolean(item.is_error) || FAILED.test(state), part);
  } else if (call) readBuiltin(out, item, type, call[1], part);
  else if (MEDIA.test(type)) {
    const { format, source, transcript } = item;
    // The transcript of spoken output is part of `text`, because a spoken answer of Gemini Live has no other text.
    out.text += str(transcript);
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
      ...(transcript ? { transcript: str(transcript) } : null),
    });
  } else {
    const kind = type || Object.keys(part)[0];
    if (!kind) return;
    out.content.push({ type: 'other', kind, raw: part });
    warn(record.warnings, 'unknown_block', kind);
  }
}
