import type { ApiReader, Fold, Taken } from './api.ts';
import { readChoices } from './choices.ts';
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
} from './output.ts';
import type { Output, ParsedResponse } from './record.ts';
import { openAiUsage } from './usage.ts';
import { warn } from './warn.ts';

function readHead(body: Obj, record: ParsedResponse): void {
  record.id = strOrNull(body.id);
  record.model = strOrNull(body.model);
  record.createdAt = millis(body.created);
  record.serviceTier = strOrNull(body.service_tier);
  if (isObject(body.usage)) record.usage = openAiUsage(body.usage, record.warnings);
  const filters = body.prompt_filter_results ?? body.moderation;
  if (filters) record.safety = filters;
  if (body.error) record.error = errorFrom(body.error);
}

function joined(parts: unknown): string {
  if (typeof parts === 'string') return parts;
  return list(parts)
    .map((part) => str(obj(part).text))
    .join('');
}

/** Mistral and OpenRouter send content as a list of parts. */
function readParts(parts: readonly unknown[], out: Output, record: ParsedResponse): void {
  for (const entry of parts) {
    if (typeof entry === 'string') {
      addText(out, entry);
      continue;
    }
    const part = obj(entry);
    if (part.type === 'text' || part.type === 'output_text') addText(out, str(part.text));
    else if (part.type === 'thinking') addReasoning(out, joined(part.thinking), part.signature);
    else if (part.type === 'refusal') addRefusal(out, str(part.refusal));
    else if (part.type === 'image_url') addMedia(out, 'image', obj(part.image_url).url, part);
    else {
      addOther(out, str(part.type), part);
      if (part.type !== 'reference') warn(record.warnings, 'unknown_block', `content part ${str(part.type)}`);
    }
  }
}

function readReasoning(message: Obj, out: Output): void {
  const details = list(message.reasoning_details);
  const plain = str(message.reasoning_content) || str(message.reasoning);
  if (plain !== '') {
    const part = addReasoning(out, plain);
    if (details.length > 0) part.raw = details;
    return;
  }
  for (const entry of details) {
    const detail = obj(entry);
    const text = str(detail.text) || str(detail.summary);
    if (text !== '') addReasoning(out, text, detail.signature);
    else if (detail.data !== undefined) addRedacted(out, detail);
  }
}

function readToolCalls(message: Obj, out: Output): void {
  for (const entry of list(message.tool_calls)) {
    const call = obj(entry);
    if (isObject(call.custom))
      addTool(out, call.id, call.custom.name, str(call.custom.input), 'client', 'custom');
    else addFunction(out, call.id, obj(call.function).name, obj(call.function).arguments);
  }
  if (isObject(message.function_call)) {
    addFunction(out, null, message.function_call.name, message.function_call.arguments);
  }
  // Groq's compound models report the tools they ran themselves.
  for (const entry of list(message.executed_tools)) {
    const tool = obj(entry);
    const use = addTool(
      out,
      `executed_${tool.index ?? out.toolUses.length}`,
      tool.type,
      tool.arguments,
      'server',
      'builtin',
    );
    use.output = tool.output;
    use.raw = tool;
  }
}

function readChoice(choice: Obj, out: Output, record: ParsedResponse): void {
  out.stopReason = strOrNull(choice.finish_reason);
  if (choice.error && record.error === null) record.error = errorFrom(choice.error);
  if (choice.content_filter_results && record.safety === undefined)
    record.safety = choice.content_filter_results;
  const message = obj(choice.message);
  if (message.reasoning_content || message.reasoning || message.reasoning_details)
    readReasoning(message, out);
  const content = message.content;
  if (typeof content === 'string') {
    if (content !== '') addText(out, content);
  } else if (Array.isArray(content)) readParts(content, out, record);
  const first = out.content.at(-1);
  for (const entry of list(message.annotations)) {
    const annotation = obj(entry);
    addCitation(
      out,
      first?.type === 'text' ? first : null,
      annotation,
      obj(annotation.url_citation ?? annotation),
    );
  }
  if (typeof message.refusal === 'string' && message.refusal !== '') addRefusal(out, message.refusal);
  if (isObject(message.audio))
    addMedia(out, 'audio', message.audio.data, message.audio, message.audio.transcript);
  for (const image of list(message.images)) addMedia(out, 'image', obj(obj(image).image_url).url, image);
  if (message.tool_calls || message.function_call || message.executed_tools) readToolCalls(message, out);
}

function add(draft: Draft, key: string, text: unknown): void {
  if (typeof text === 'string') draft[key] = str(draft[key]) + text;
}

/** The draft's own object under a key, made on first use. */
function own(draft: Draft, key: string): Draft {
  draft[key] ??= {};
  return draft[key] as Draft;
}

function append(draft: Draft, key: string, entries: unknown): void {
  if (!Array.isArray(entries)) return;
  const kept = draft[key];
  if (Array.isArray(kept)) for (const entry of entries) kept.push(entry);
  else draft[key] = [...entries];
}

/** Once a delta came as parts, content is a list in which neighbours of one kind are merged. */
function addContent(message: Draft, content: unknown): void {
  if (typeof content === 'string' && !Array.isArray(message.content)) {
    message.content = str(message.content) + content;
    return;
  }
  const parts: Draft[] = Array.isArray(message.content)
    ? message.content
    : message.content
      ? [{ type: 'text', text: message.content }]
      : [];
  message.content = parts;
  for (const entry of typeof content === 'string' ? [content] : list(content)) {
    const part: Obj = typeof entry === 'string' ? { type: 'text', text: entry } : obj(entry);
    const last = parts.at(-1);
    if (last === undefined || last.type !== part.type) parts.push({ ...part });
    else if (part.type === 'text') last.text = str(last.text) + str(part.text);
    else if (part.type === 'thinking') last.thinking = joined(last.thinking) + joined(part.thinking);
    else parts.push({ ...part });
  }
}

class ToolCalls {
  readonly calls: Draft[] = [];
  private readonly byKey = new Map<unknown, Draft>();

  push(delta: Obj, position: number): void {
    const id = strOrNull(delta.id);
    const inner = obj(delta.function ?? delta.custom);
    const key = delta.index ?? id ?? this.calls[position]?.id ?? position;
    let call = this.byKey.get(key);
    // Some servers give every parallel call index 0: a new id with a name is a new call.
    const another =
      call !== undefined && id !== null && call.id !== undefined && call.id !== id && !!inner.name;
    if (call === undefined || another) {
      call = { type: 'function' };
      this.calls.push(call);
      this.byKey.set(key, call);
    }
    if (id !== null) call.id = id;
    if (typeof delta.type === 'string' && delta.type !== '') call.type = delta.type;
    const kind = delta.custom === undefined ? 'function' : 'custom';
    const target = own(call, kind);
    if (strOrNull(inner.name) !== null) target.name = inner.name;
    if (isObject(inner.arguments)) target.arguments = inner.arguments;
    else add(target, 'arguments', inner.arguments);
    add(target, 'input', inner.input);
  }
}

interface ChoiceDraft {
  choice: Draft;
  message: Draft;
  tools: ToolCalls;
}

function pushDetails(message: Draft, entries: readonly unknown[]): void {
  const details = list(message.reasoning_details) as Draft[];
  const merged = details.length === 0 ? [] : details;
  message.reasoning_details = merged;
  for (const entry of entries) {
    const detail = obj(entry);
    const last = merged.at(-1);
    if (
      last !== undefined &&
      detail.index !== undefined &&
      last.index === detail.index &&
      last.type === detail.type
    ) {
      add(last, 'text', detail.text);
      add(last, 'summary', detail.summary);
      add(last, 'data', detail.data);
      if (detail.signature) last.signature = detail.signature;
    } else merged.push({ ...detail });
  }
}

function pushDelta(draft: ChoiceDraft, delta: Obj): void {
  const { message, tools } = draft;
  if (delta.content !== undefined && delta.content !== null) addContent(message, delta.content);
  if (delta.tool_calls) for (const [i, call] of list(delta.tool_calls).entries()) tools.push(obj(call), i);
  if (delta.reasoning_content) add(message, 'reasoning_content', delta.reasoning_content);
  if (delta.reasoning) add(message, 'reasoning', delta.reasoning);
  if (delta.reasoning_details) pushDetails(message, list(delta.reasoning_details));
  if (delta.refusal) add(message, 'refusal', delta.refusal);
  if (isObject(delta.function_call)) {
    const call = own(message, 'function_call');
    add(call, 'name', delta.function_call.name);
    add(call, 'arguments', delta.function_call.arguments);
  }
  if (isObject(delta.audio)) {
    const audio = own(message, 'audio');
    audio.id ??= delta.audio.id;
    add(audio, 'data', delta.audio.data);
    add(audio, 'transcript', delta.audio.transcript);
    if (delta.audio.expires_at !== undefined) audio.expires_at = delta.audio.expires_at;
  }
  append(message, 'annotations', delta.annotations);
  append(message, 'images', delta.images);
  append(message, 'executed_tools', delta.executed_tools);
}

const HEAD = [
  'id',
  'model',
  'created',
  'service_tier',
  'object',
  'prompt_filter_results',
  'moderation',
] as const;

/** Chat chunks and legacy completion chunks have the same frame around a delta or a text. */
class ChoiceFold implements Fold {
  private readonly body: Draft = {};
  private readonly drafts = new Map<unknown, ChoiceDraft>();
  private finished = false;

  push(event: Obj): Taken {
    const choices = event.choices;
    const groq = obj(event.x_groq);
    if (!Array.isArray(choices) && !isObject(event.usage) && event.x_groq === undefined) return 'foreign';
    if (
      this.finished &&
      list(choices).length > 0 &&
      strOrNull(event.id) !== null &&
      event.id !== this.body.id
    ) {
      return 'restart';
    }
    for (const key of HEAD) if (!this.body[key] && event[key]) this.body[key] = event[key];
    // A later chunk may carry usage: null.
    if (isObject(event.usage)) this.body.usage = event.usage;
    else if (isObject(groq.usage)) this.body.usage = groq.usage;
    if (event.error ?? groq.error) this.body.error = event.error ?? groq.error;
    for (const entry of list(choices)) this.pushChoice(obj(entry));
    return 'taken';
  }

  private pushChoice(choice: Obj): void {
    const index = choice.index ?? 0;
    let draft = this.drafts.get(index);
    if (draft === undefined) {
      draft = { choice: { index }, message: {}, tools: new ToolCalls() };
      this.drafts.set(index, draft);
    }
    const delta = choice.delta ?? choice.message;
    if (isObject(delta)) pushDelta(draft, delta);
    add(draft.choice, 'text', choice.text);
    if (choice.error) draft.choice.error = choice.error;
    if (choice.content_filter_results) draft.choice.content_filter_results = choice.content_filter_results;
    if (strOrNull(choice.finish_reason) !== null) {
      draft.choice.finish_reason = choice.finish_reason;
      this.finished = true;
    }
  }

  end(): { body: Obj; complete: boolean } {
    const drafts = [...this.drafts.values()].sort((a, b) => Number(a.choice.index) - Number(b.choice.index));
    const choices = drafts.map(({ choice, message, tools }) => {
      if (choice.text !== undefined) return choice;
      return {
        ...choice,
        message: tools.calls.length > 0 ? { ...message, tool_calls: tools.calls } : message,
      };
    });
    return { body: { ...this.body, choices }, complete: this.finished };
  }
}

function isLegacy(choice: Obj): boolean {
  return choice.text !== undefined && choice.message === undefined && choice.delta === undefined;
}

/** OpenAI Chat Completions and the many services that speak it. */
export const openAiChat: ApiReader = {
  api: 'openai.chat',
  provider: 'openai',
  endsWithDone: true,
  recognise(value) {
    if (!Array.isArray(value.choices)) {
      return value.object === 'chat.completion.chunk' || value.x_groq !== undefined ? 'event' : null;
    }
    const first = obj(value.choices[0]);
    if (value.object === 'text_completion' || isLegacy(first)) return null;
    return value.object === 'chat.completion.chunk' || first.delta !== undefined ? 'event' : 'body';
  },
  read(body, record) {
    readHead(body, record);
    readChoices(list(body.choices), record, readChoice);
  },
  fold: () => new ChoiceFold(),
};

/** OpenAI's legacy completions, also spoken by models imported into Bedrock. */
export const openAiCompletions: ApiReader = {
  api: 'openai.completions',
  provider: 'openai',
  endsWithDone: true,
  recognise: (value) => (Array.isArray(value.choices) ? 'either' : null),
  read(body, record) {
    readHead(body, record);
    readChoices(list(body.choices), record, (choice, out) => {
      out.stopReason = strOrNull(choice.finish_reason ?? choice.stop_reason);
      if (choice.text) addText(out, str(choice.text));
    });
  },
  fold: () => new ChoiceFold(),
};
