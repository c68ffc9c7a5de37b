import type { ApiReader } from './api.ts';
import { readHead, readStatus } from './head.ts';
import { closeArguments, itemFold, type Step } from './item-fold.ts';
import { type Draft, list, type Obj, obj, str } from './json.ts';
import { mergeParts } from './parts.ts';
import type { ParsedResponse } from './record.ts';
import { readTyped } from './typed-items.ts';

function read(body: Obj, record: ParsedResponse): void {
  readHead(body, record, 'interactions');
  readStatus(body, record);
  record.stopReason = record.status;
  for (const step of list(body.steps)) readTyped(obj(step), record, record);
}

function pieceOf({ type, ...delta }: Obj): Obj {
  if (type === 'text_annotation_delta') return { content: [{ type: 'text', ...delta }] };
  if (type === 'thought_summary') return { summary: [delta.content] };
  return /^(text|image|audio|video|document)$/.test(str(type)) ? { content: [{ type, ...delta }] } : delta;
}

function stepOf({ event_type, index, step, delta, interaction, status, usage }: Obj): Step | null {
  switch (event_type) {
    case 'step.delta':
      return { at: index, piece: pieceOf(obj(delta)) };
    case 'step.start':
      return { at: index, open: step };
    case 'interaction.created':
      return { start: interaction };
    case 'interaction.completed':
      return { head: interaction, done: true };
    case 'interaction.status_update':
      return { head: { status, usage } };
  }
  return event_type === 'step.stop' ? {} : null;
}

function close(body: Draft, items: Draft[]): Obj {
  const steps = items.map(({ type = 'model_output', content, arguments: args, ...step }) => {
    return { ...step, type, content: mergeParts(list(content)), arguments: closeArguments(args) };
  });
  return { steps, ...body };
}

/** Gemini Interactions. */
export const geminiInteractions: ApiReader = {
  api: 'gemini.interactions',
  provider: 'gemini',
  recognise(value) {
    if (/^(interaction|step)\./.test(str(value.event_type))) return 'event';
    const named =
      value.object === 'interaction' || (Array.isArray(value.steps) && typeof value.status === 'string');
    return named ? 'body' : null;
  },
  read,
  fold: itemFold(stepOf, close),
};
