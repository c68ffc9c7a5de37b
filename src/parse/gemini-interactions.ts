import type { ApiReader, Fold, Folded, Taken } from './api.ts';
import { errorFrom } from './errors.ts';
import { type Draft, isObject, list, millis, type Obj, obj, str, strOrNull, tryJson } from './json.ts';
import {
  addCitation,
  addFunction,
  addMedia,
  addOther,
  addReasoning,
  addText,
  addTool,
  addToolResult,
} from './output.ts';
import type { ParsedResponse } from './record.ts';
import { interactionsUsage } from './usage.ts';
import { warn } from './warn.ts';

function readContent(entry: Obj, record: ParsedResponse): void {
  if (entry.type === 'text') {
    const part = addText(record, str(entry.text));
    for (const raw of list(entry.annotations)) addCitation(record, part, obj(raw), obj(raw));
  } else addMedia(record, entry.mime_type ?? entry.type, entry.data ?? entry.uri, entry);
}

function readStep(step: Obj, record: ParsedResponse): void {
  const type = str(step.type);
  if (type === 'model_output') {
    for (const entry of list(step.content)) readContent(obj(entry), record);
    if (isObject(step.error)) record.error ??= errorFrom(step.error);
  } else if (type === 'thought') {
    const text = list(step.summary)
      .map((part) => str(obj(part).text))
      .join('');
    addReasoning(record, text, step.signature);
  } else if (type === 'function_call') {
    const use = addFunction(record, step.id, step.name, step.arguments);
    if (step.signature) use.signature = str(step.signature);
  } else if (type.endsWith('_call')) {
    const mcp = type === 'mcp_server_tool_call';
    const name = mcp ? step.name : type.replace(/_call$/, '');
    addTool(record, step.id, name, step.arguments, 'server', mcp ? 'mcp' : 'builtin').raw = step;
  } else if (type.endsWith('_result')) {
    addToolResult(record, step.call_id, step.result, step.is_error === true, step);
  } else {
    addOther(record, type, step);
    if (type !== 'user_input') warn(record.warnings, 'unknown_block', `step ${type}`);
  }
}

function read(body: Obj, record: ParsedResponse): void {
  record.id = strOrNull(body.id);
  record.model = strOrNull(body.model);
  record.createdAt = millis(body.created);
  record.serviceTier = strOrNull(body.service_tier);
  record.status = strOrNull(body.status);
  record.stopReason = record.status;
  if (body.status === 'queued' || body.status === 'in_progress') record.complete = false;
  if (isObject(body.usage)) record.usage = interactionsUsage(body.usage, record.warnings);
  for (const step of list(body.steps)) readStep(obj(step), record);
  if (isObject(body.error)) record.error ??= errorFrom(body.error);
}

interface StepDraft {
  step: Draft;
  content: Draft[];
  summary: string;
  partial: string;
}

function pushDelta(draft: StepDraft, delta: Obj): void {
  const last = draft.content.at(-1);
  switch (delta.type) {
    case 'text':
      if (last?.type === 'text') last.text = str(last.text) + str(delta.text);
      else draft.content.push({ type: 'text', text: str(delta.text) });
      return;
    case 'text_annotation_delta':
      if (last?.type === 'text') last.annotations = [...list(last.annotations), ...list(delta.annotations)];
      return;
    case 'thought_summary':
      draft.summary += str(obj(delta.content).text);
      return;
    case 'thought_signature':
      draft.step.signature = delta.signature;
      return;
    case 'arguments_delta':
      draft.partial += str(delta.arguments);
      return;
    case 'image':
    case 'audio':
    case 'video':
    case 'document':
      draft.content.push({ ...delta });
      return;
  }
  const { type: _, ...fields } = delta;
  Object.assign(draft.step, fields);
}

function closeStep({ step, content, summary, partial }: StepDraft): Obj {
  if (content.length > 0) step.content = content;
  if (summary !== '') step.summary = [{ type: 'text', text: summary }];
  if (partial !== '') step.arguments = tryJson(partial) ?? partial;
  return step;
}

class InteractionFold implements Fold {
  private interaction: Draft = {};
  private readonly steps = new Map<unknown, StepDraft>();
  private finished = false;

  push(event: Obj): Taken {
    switch (event.event_type) {
      case 'step.delta':
        pushDelta(this.step(event.index), obj(event.delta));
        return 'taken';
      case 'step.start': {
        const { content, ...step } = obj(event.step);
        this.steps.set(event.index, {
          step,
          content: list(content).map((entry) => ({ ...obj(entry) })),
          summary: '',
          partial: '',
        });
        return 'taken';
      }
      case 'interaction.created':
        if (this.finished || this.steps.size > 0) return 'restart';
        this.interaction = { ...obj(event.interaction) };
        return 'taken';
      case 'interaction.status_update':
        this.interaction.status = event.status;
        if (isObject(event.usage)) this.interaction.usage = event.usage;
        return 'taken';
      case 'interaction.completed':
        Object.assign(this.interaction, obj(event.interaction));
        this.finished = true;
        return 'taken';
      case 'step.stop':
        return 'taken';
    }
    return 'foreign';
  }

  private step(index: unknown): StepDraft {
    let draft = this.steps.get(index);
    if (draft === undefined) {
      draft = { step: { type: 'model_output' }, content: [], summary: '', partial: '' };
      this.steps.set(index, draft);
    }
    return draft;
  }

  end(): Folded {
    const folded = [...this.steps.values()].map(closeStep);
    const steps = list(this.interaction.steps).length > 0 ? this.interaction.steps : folded;
    return { body: { object: 'interaction', ...this.interaction, steps }, complete: this.finished };
  }
}

/** Gemini Interactions. */
export const geminiInteractions: ApiReader = {
  api: 'gemini.interactions',
  provider: 'gemini',
  recognise(value) {
    if (typeof value.event_type === 'string')
      return /^(interaction|step)\./.test(value.event_type) ? 'event' : null;
    if (value.object === 'interaction') return 'body';
    return Array.isArray(value.steps) && typeof value.status === 'string' ? 'body' : null;
  },
  read,
  fold: () => new InteractionFold(),
};
