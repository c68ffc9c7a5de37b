import type { ApiReader } from './api.ts';
import { readHead, readStatus } from './head.ts';
import { closeArguments, itemFold, type Step } from './item-fold.ts';
import { type Draft, list, type Obj, obj, objects } from './json.ts';
import { mergeParts } from './merge.ts';
import type { ParsedResponse } from './record.ts';
import { readTyped } from './typed-items.ts';

function read(body: Obj, record: ParsedResponse): void {
  readHead(body, record, 'interactions');
  readStatus(body, record);
  record.stopReason = record.status;
  for (const step of objects(body.steps)) readTyped(step, record, record);
}

function pieceOf(delta: Obj): Obj {
  switch (delta.type) {
    case 'text':
    case 'image':
    case 'audio':
    case 'video':
    case 'document':
      return { content: [delta] };
    case 'text_annotation_delta':
      return { content: [{ type: 'text', text: '', annotations: delta.annotations }] };
    case 'thought_summary':
      return { summary: [delta.content] };
  }
  return delta;
}

function stepOf(event: Obj): Step | null {
  const at = event.index;
  switch (event.event_type) {
    case 'step.delta':
      return { at, piece: pieceOf(obj(event.delta)) };
    case 'step.start':
      return { at, open: event.step };
    case 'interaction.created':
      return { start: true, head: event.interaction };
    case 'interaction.completed':
      return { head: event.interaction, done: true };
    case 'interaction.status_update':
      return { head: { status: event.status, usage: event.usage } };
    case 'step.stop':
      return {};
  }
  return null;
}

function close(body: Draft, steps: Draft[]): Obj {
  for (const step of steps) {
    step.type ??= 'model_output';
    if (step.content) step.content = mergeParts(list(step.content));
    if (step.arguments) step.arguments = closeArguments(step.arguments);
  }
  return { steps, ...body };
}

/** Gemini Interactions. */
export const geminiInteractions: ApiReader = {
  api: 'gemini.interactions',
  recognise(value) {
    if (value.event_type && stepOf(value)) return 'event';
    const named =
      value.object === 'interaction' || (Array.isArray(value.steps) && typeof value.status === 'string');
    return named ? 'body' : null;
  },
  read,
  fold: itemFold({ stepOf, close }),
};
