import type { ApiReader } from './api.ts';
import { readChoices } from './choices.ts';
import { errorFrom } from './errors.ts';
import { readHead } from './head.ts';
import { itemFold, type Step, stepOfList } from './item-fold.ts';
import { type Draft, isObject, list, type Obj, obj, objects, str, strOrNull } from './json.ts';
import { merge, mergeParts } from './merge.ts';
import {
  addCitation,
  addFunction,
  addMedia,
  addReasoning,
  addRedacted,
  addRefusal,
  addStopDetail,
  addText,
  addTool,
} from './output.ts';
import type { Output, ParsedResponse } from './record.ts';
import { readTyped } from './typed-items.ts';

function readReasoning(message: Obj, out: Output): void {
  const plain = str(message.reasoning_content) || str(message.reasoning);
  const details = objects(message.reasoning_details);
  if (plain) addReasoning(out, plain).raw = details;
  else {
    for (const detail of details) {
      const text = str(detail.text ?? detail.summary);
      if (text) addReasoning(out, text, detail.signature);
      else addRedacted(out, detail);
    }
  }
}

function readToolCalls(message: Obj, out: Output): void {
  for (const { id, custom, function: called } of objects(message.tool_calls)) {
    if (isObject(custom)) addTool(out, id, custom.name, str(custom.input), 'client', 'custom');
    else addFunction(out, id, obj(called).name, obj(called).arguments);
  }
  const legacy = message.function_call;
  if (isObject(legacy)) addFunction(out, null, legacy.name, legacy.arguments);
  // Groq's compound models report the tools they ran themselves.
  for (const tool of objects(message.executed_tools)) {
    const use = addTool(out, null, tool.type, tool.arguments, 'server', 'builtin');
    use.output = tool.output;
    use.raw = tool;
  }
}

function readChoice(choice: Obj, out: Output, record: ParsedResponse): void {
  const message = obj(choice.message);
  const content = message.content ?? choice.text;
  // Models on Bedrock say stop_reason.
  out.stopReason = strOrNull(choice.finish_reason ?? choice.stop_reason);
  if (choice.error) record.error ??= errorFrom(choice.error);
  if (choice.content_filter_results) record.safety ??= choice.content_filter_results;
  if (choice.stop_sequence) addStopDetail(out, choice.stop_sequence);
  if (message.reasoning_content || message.reasoning || message.reasoning_details)
    readReasoning(message, out);
  if (typeof content === 'string') {
    if (content) addText(out, content);
  } else if (content) for (const part of objects(content)) readTyped(part, out, record);
  if (message.annotations) {
    const last = out.content.at(-1);
    for (const annotation of objects(message.annotations)) {
      addCitation(
        out,
        last?.type === 'text' ? last : null,
        annotation,
        obj(annotation.url_citation ?? annotation),
      );
    }
  }
  if (message.refusal) addRefusal(out, str(message.refusal));
  if (isObject(message.audio))
    addMedia(out, 'audio', message.audio.data, message.audio, message.audio.transcript);
  if (message.images) for (const image of objects(message.images)) readTyped(image, out, record);
  if (message.tool_calls || message.function_call || message.executed_tools) readToolCalls(message, out);
}

/** Reads a chat or completions body. */
export function readChat(body: Obj, record: ParsedResponse): void {
  readHead(body, record, 'openai');
  const filters = body.prompt_filter_results ?? body.moderation;
  if (filters) record.safety = filters;
  readChoices(list(body.choices), record, readChoice);
}

/** Keyed by index, else id, else the last one; some servers give every parallel call the index 0. */
function mergeCalls(deltas: readonly Obj[]): Draft[] {
  const calls: Draft[] = [];
  for (const delta of deltas) {
    const { index, id } = delta;
    const known = calls.findLast((call) => (index != null ? call.index === index : !id || call.id === id));
    const another = id && known?.id && known.id !== id && obj(delta.function).name;
    if (known && !another) merge(known, delta);
    else calls.push(merge({}, delta));
  }
  return calls;
}

/** What a chunk does; chat and legacy completions have the same frame, round a delta or a text. */
export function stepOfChat(event: Obj): Step | null {
  const { choices, usage, x_groq } = event;
  if (!choices && !usage && !x_groq) return null;
  // Groq reports usage and errors beside the chunk.
  const head = x_groq ? { ...obj(x_groq), ...event } : event;
  const step = stepOfList(head, choices, 'finish_reason');
  step.done ||= obj(list(choices)[0]).stop_reason;
  step.stale = !usage && !x_groq && !event.error;
  return step;
}

/** Puts the folded choices into the body. */
export function closeChat(body: Draft, items: Draft[]): Obj {
  for (const choice of items) {
    const message = (choice.delta ?? choice.message ?? {}) as Draft;
    const { content, tool_calls, reasoning_details } = message;
    if (Array.isArray(content)) message.content = mergeParts(content);
    if (tool_calls) message.tool_calls = mergeCalls(objects(tool_calls));
    if (reasoning_details) message.reasoning_details = mergeParts(objects(reasoning_details));
    choice.message = message;
    // Moonshot puts it here.
    body.usage ??= choice.usage;
  }
  return { ...body, choices: items.sort((a, b) => Number(a.index) - Number(b.index)) };
}

const fold = itemFold({ stepOf: stepOfChat, close: closeChat });

/** OpenAI Chat Completions and the many services that speak it. */
export const openAiChat: ApiReader = {
  api: 'openai.chat',
  recognise(value) {
    const chunk = value.object === 'chat.completion.chunk';
    if (!Array.isArray(value.choices)) return chunk || value.x_groq ? 'event' : null;
    const { text, message, delta } = obj(value.choices[0]);
    if (value.object === 'text_completion' || (text !== undefined && !message && !delta)) return null;
    return chunk || delta ? 'event' : 'body';
  },
  read: readChat,
  fold,
};

/** OpenAI's legacy completions, also spoken by models imported into Bedrock. */
export const openAiCompletions: ApiReader = {
  api: 'openai.completions',
  recognise: (value) => (Array.isArray(value.choices) ? 'either' : null),
  read: readChat,
  fold,
};
