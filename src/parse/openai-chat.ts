import type { ApiReader, Fold } from './api.ts';
import { readChoices } from './choices.ts';
import { errorFrom } from './errors.ts';
import { readHead } from './head.ts';
import { type Draft, isObject, list, type Obj, obj, str, strOrNull } from './json.ts';
import { merge, slot } from './merge.ts';
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
import { mergeParts } from './parts.ts';
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

/** Keyed by index, else id, else position; some servers give every parallel call the index 0. */
function pushToolCalls(message: Draft, deltas: readonly unknown[]): void {
  message.tool_calls ??= [];
  const calls = message.tool_calls as Draft[];
  for (const [position, entry] of deltas.entries()) {
    const delta = obj(entry);
    const { index, id } = delta;
    let call = calls.findLast((known, i) => {
      return index != null ? known.index === index : id ? known.id === id : i === position;
    });
    if (!call || (id && call.id && call.id !== id && obj(delta.function).name)) {
      call = {};
      calls.push(call);
    }
    merge(call, delta);
  }
}

function pushDelta(message: Draft, delta: Obj): void {
  const { content, tool_calls, ...rest } = delta;
  if (typeof content === 'string' && !Array.isArray(message.content))
    message.content = str(message.content) + content;
  else if (content) {
    // Mistral's parts; a plain string before or after them is one too.
    const before = Array.isArray(message.content)
      ? message.content
      : message.content
        ? [message.content]
        : [];
    message.content = before;
    for (const part of Array.isArray(content) ? content : [content]) before.push(part);
  }
  if (tool_calls) pushToolCalls(message, list(tool_calls));
  merge(message, rest);
}

function closeMessage(message: Draft): Obj {
  const { content, reasoning_details } = message;
  if (Array.isArray(content)) message.content = mergeParts(content);
  if (reasoning_details) message.reasoning_details = mergeDetails(list(reasoning_details));
  return message;
}

function mergeDetails(details: readonly unknown[]): Obj[] {
  const merged = new Map<unknown, Draft>();
  for (const [i, entry] of details.entries()) {
    const detail = obj(entry);
    merge(slot(merged, `${detail.index ?? -i} ${detail.type}`), detail);
  }
  return [...merged.values()];
}

const HEAD = ['id', 'model', 'created', 'service_tier', 'prompt_filter_results', 'moderation'] as const;

/** Chat chunks and legacy completion chunks have the same frame, round a delta or a text. */
function fold(): Fold {
  const body: Draft = {};
  const choices = new Map<unknown, Draft>();
  let finished = false;
  const pushChoice = ({ delta, message, index = 0, ...rest }: Obj): void => {
    const choice = slot(choices, index);
    choice.message ??= {};
    pushDelta(choice.message as Draft, obj(delta ?? message));
    merge(choice, { index, ...rest });
    if (rest.finish_reason) finished = true;
  };
  return {
    push(event) {
      const groq = obj(event.x_groq);
      const entries = list(event.choices);
      if (!event.choices && !event.usage && !event.x_groq) return 'foreign';
      if (finished && entries.length > 0 && event.id && event.id !== body.id) return 'restart';
      for (const key of HEAD) body[key] ||= event[key];
      // A later chunk may carry usage: null.
      body.usage = event.usage ?? groq.usage ?? body.usage;
      body.error = event.error ?? groq.error ?? body.error;
      for (const entry of entries) pushChoice(obj(entry));
      return 'taken';
    },
    end() {
      const sorted = [...choices.values()].sort((a, b) => Number(a.index) - Number(b.index));
      for (const choice of sorted) closeMessage(choice.message as Draft);
      return { body: { ...body, choices: sorted }, complete: finished };
    },
  };
}

/** OpenAI Chat Completions and the many services that speak it. */
export const openAiChat: ApiReader = {
  api: 'openai.chat',
  provider: 'openai',
  endsWithDone: true,
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
  provider: 'openai',
  endsWithDone: true,
  recognise: (value) => (Array.isArray(value.choices) ? 'either' : null),
  read(body, record) {
    readChat(body, record, (choice, out) => {
      out.stopReason = strOrNull(choice.finish_reason ?? choice.stop_reason);
      if (choice.text) addText(out, str(choice.text));
    });
  },
  fold,
};
