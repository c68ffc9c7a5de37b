import { firstKey, isObject, type Obj, obj, objects, str, strOrNull } from './json.ts';
import {
  addCitation,
  addFunction,
  addMedia,
  addOther,
  addReasoning,
  addRedacted,
  addText,
  addTool,
  addToolResult,
} from './output.ts';
import type { Output, Warning } from './record.ts';
import { textOf } from './typed-items.ts';
import { warn } from './warn.ts';

const MEDIA = ['inlineData', 'fileData', 'image', 'document', 'video', 'audio'] as const;
const RESULTS = ['toolResult', 'functionResponse', 'codeExecutionResult', 'toolResponse'] as const;
const SERVER_CALLS = ['executableCode', 'toolCall'] as const;

const MARKS = new Set(['type', 'thought', 'thoughtSignature']);

function readText(text: string, citations: unknown, out: Output, signature: string | null): void {
  const part = addText(out, text);
  if (signature !== null) part.signature = signature;
  for (const citation of objects(citations)) {
    const place = obj(Object.values(obj(citation.location))[0]);
    addCitation(out, part, citation, { ...place, title: citation.title }, textOf(citation.sourceContent));
  }
}

function readReasoning(content: Obj, out: Output): void {
  const text = isObject(content.reasoningText) ? content.reasoningText : content;
  if (content.redactedContent !== undefined) addRedacted(out, content);
  else addReasoning(out, str(text.text), text.signature);
}

/** Reads a part whose key says what it is: Bedrock Converse, Gemini generateContent and Live. */
export function readKeyed(part: Obj, out: Output, warnings: Warning[]): void {
  const signature = strOrNull(part.thoughtSignature);
  if (typeof part.text === 'string') {
    if (part.thought === true) addReasoning(out, part.text, signature);
    else if (part.text !== '' || signature !== null) readText(part.text, part.citations, out, signature);
    return;
  }
  const call = part.functionCall ?? part.toolUse;
  if (isObject(call)) {
    if (call.type === 'server_tool_use') {
      addTool(out, call.toolUseId, call.name, call.input, 'server', 'builtin').raw = call;
      return;
    }
    const use = addFunction(out, call.id ?? call.toolUseId, call.name, call.args ?? call.input);
    if (signature !== null) use.signature = signature;
  } else if (isObject(part.reasoningContent)) readReasoning(part.reasoningContent, out);
  else if (isObject(part.citationsContent)) {
    readText(textOf(part.citationsContent.content), part.citationsContent.citations, out, null);
  } else readRest(part, out, warnings, signature);
}

function readRest(part: Obj, out: Output, warnings: Warning[], signature: string | null): void {
  const kind = Object.keys(part).find((key) => !MARKS.has(key));
  if (kind === undefined) {
    if (signature !== null) addText(out, '').signature = signature;
    return;
  }
  const media = firstKey(part, MEDIA);
  const result = firstKey(part, RESULTS);
  const call = firstKey(part, SERVER_CALLS);
  if (media !== undefined) {
    const { mimeType, format, data, fileUri, source } = obj(part[media]);
    addMedia(out, mimeType ?? `${media}/${format}`, data ?? fileUri ?? obj(source).bytes ?? source, part);
  } else if (result !== undefined) {
    const raw = obj(part[result]);
    const failed = raw.status === 'error' || (raw.outcome ?? 'OUTCOME_OK') !== 'OUTCOME_OK';
    addToolResult(out, raw.id ?? raw.toolUseId, raw.content ?? raw.response ?? raw, failed, part);
  } else if (call !== undefined) {
    const { id, name, toolType, args } = obj(part[call]);
    const code = call === 'executableCode';
    const use = addTool(
      out,
      id,
      name ?? toolType ?? 'code_execution',
      code ? part[call] : args,
      'server',
      'builtin',
    );
    use.raw = part;
  } else {
    addOther(out, kind, part);
    warn(warnings, 'unknown_block', kind);
  }
}
