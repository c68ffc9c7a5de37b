import type { ApiReader } from './api.ts';
import { readChoices } from './choices.ts';
import { errorFrom } from './errors.ts';
import { readHead } from './head.ts';
import { itemFold, type Step } from './item-fold.ts';
import { type Draft, isObject, list, type Obj, obj, str, strOrNull } from './json.ts';
import { merge, mergeParts } from './merge.ts';
import {
  addCitation,
  addFunction,
  addMedia,
  addReasoning,
  addRedacted,
  addRefusal,
  addText,
  addTool,
} from './output.ts';
import type { Output, ParsedResponse } from './record.ts';
import { readTyped } from './typed-items.ts';

function readReasoning(message: Obj, out: Output): void {
  const plain = str(message.reasoning_content) || str(message.reasoning);
  const details = list(message.reasoning_details).map(obj);
  if (plain !== '') {
    const part = addReasoning(out, plain);
    if (details.length > 0) part.raw = details;
    return;
  }
  for (const detail of details) {
    const text = str(detail.text) || str(detail.summary);
    if (text !== '') addReasoning(out, text, detail.signature);
    else addRedacted(out, detail);
  }
}

function readToolCalls(message: Obj, out: Output): void {
  for (const entry of list(message.tool_calls)) {
    const call = obj(entry);
    if (isObject(call.custom))
      addTool(out, call.id, call.custom.name, str(call.custom.input), 'client', 'custom');
    else addFunction(out, call.id, obj(call.function).name, obj(call.function).arguments);
  }
  const legacy = message.function_call;
  if (isObject(legacy)) addFunction(out, null, legacy.name, legacy.arguments);
  // Groq's compound models report the tools they ran themselves.
  for (const entry of list(message.executed_tools)) {
    const tool = obj(entry);
    const use = addTool(out, null, tool.type, tool.arguments, 'server', 'builtin');
    use.output = tool.output;
    use.raw = tool;
  }
}

function readChoice(choice: Obj, out: Output, record: ParsedResponse): void {
  out.stopReason = strOrNull(choice.finish_reason);
  if (choice.error) record.error ??= errorFrom(choice.error);
  if (choice.content_filter_results) record.safety ??= choice.content_filter_results;
  const message = obj(choice.message);
  const { content } = message;
  if (message.reasoning_content || message.reasoning || message.reasoning_details)
    readReasoning(message, out);
  if (typeof content === 'string') {
    if (content !== '') addText(out, content);
  } else if (content) for (const part of list(content)) readTyped(obj(part), out, record);
  if (message.annotations) {
    const last = out.content.at(-1);
    for (const entry of list(message.annotations)) {
      const annotation = obj(entry);
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
  if (message.images) for (const image of list(message.images)) readTyped(obj(image), out, record);
  if (message.tool_calls || message.function_call || message.executed_tools) readToolCalls(message, out);
}

function readChat(body: Obj, record: ParsedResponse, read: typeof readChoice): void {
  readHead(body, record, 'openai');
  const filters = body.prompt_filter_results ?? body.moderation;
  if (filters) record.safety = filters;
  readChoices(list(body.choices), record, read);
}

/** Keyed by index, else id, else the last one; some servers give every parallel call the index 0. */
function mergeCalls(deltas: readonly unknown[]): Draft[] {
  const calls: Draft[] = [];
  for (const entry of deltas) {
    const delta = obj(entry);
    const { index, id } = delta;
    const known = calls.findLast((call) => (index != null ? call.index === index : !id || call.id === id));
    const another = id && known?.id && known.id !== id && obj(delta.function).name;
    if (known && !another) merge(known, delta);
    else calls.push(merge({}, delta));
  }
  return calls;
}

function mergeDetails(details: readonly unknown[]): Draft[] {
  const merged: Draft[] = [];
  for (const entry of details) {
    const detail = obj(entry);
    const last = merged.at(-1);
    if (last && last.index === detail.index && last.type === detail.type) merge(last, detail);
    else merged.push(merge({}, detail));
  }
  return merged;
}

function stepOf(event: Obj): Step | null {
  const { choices, usage, x_groq } = event;
  const groq = obj(x_groq);
  if (!choices && !usage && !x_groq) return null;
  const more = list(choices).map((entry): Step => {
    const choice = obj(entry);
    return { at: choice.index ?? 0, piece: choice, done: choice.finish_reason };
  });
  // Groq reports usage and errors beside the chunk.
  return { head: x_groq ? { ...groq, ...event } : event, more, done: more.some((step) => step.done) };
}

function close(body: Draft, items: Draft[]): Obj {
  const choices = items.map((choice) => {
    const message: Draft = { ...obj(choice.delta ?? choice.message) };
    if (Array.isArray(message.content)) message.content = mergeParts(message.content);
    if (message.tool_calls) message.tool_calls = mergeCalls(list(message.tool_calls));
    if (message.reasoning_details) message.reasoning_details = mergeDetails(list(message.reasoning_details));
    return { ...choice, message };
  });
  return { ...body, choices: choices.sort((a, b) => Number(obj(a).index) - Number(obj(b).index)) };
}

/** Chat chunks and legacy completion chunks have the same frame, round a delta or a text. */
const fold = itemFold({ stepOf, close });

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
  read(body, record) {
    readChat(body, record, readChoice);
  },
  fold,
};

/** OpenAI's legacy completions, also spoken by models imported into Bedrock. */
export const openAiCompletions: ApiReader = {
  api: 'openai.completions',
  recognise: (value) => (Array.isArray(value.choices) ? 'either' : null),
  read(body, record) {
    readChat(body, record, (choice, out) => {
      out.stopReason = strOrNull(choice.finish_reason ?? choice.stop_reason);
      if (choice.text) addText(out, str(choice.text));
    });
  },
  fold,
};
