import { closeArguments, itemAt, restate, type Streaming, start } from './fold.ts';
import { list, type Obj, obj, str } from './json.ts';
import { merge, mergeParts } from './merge.ts';

/** What a delta adds to its step. */
function pieceOf(delta: Obj): Obj {
  const { type, annotations } = delta;
  if (type === 'thought_summary') return { summary: [delta.content] };
  if (annotations) return { content: [{ type: 'text', text: '', annotations }] };
  return (delta.text ?? delta.data ?? delta.uri) === undefined ? delta : { content: [delta] };
}

/** Gemini Interactions. */
export const interactionsStreaming: Streaming = {
  take(fold, event) {
    const { event_type: type, interaction, status, usage } = event;
    if (type === 'interaction.created') return start(fold, interaction);
    if (type === 'step.delta') merge(itemAt(fold, event.index), pieceOf(obj(event.delta)));
    else if (type === 'step.start') itemAt(fold, event.index, event.step);
    else if (/^(step|interaction)\./.test(str(type))) {
      restate(restate(fold.body, interaction), { status, usage });
      if (type === 'interaction.completed') fold.done = true;
    } else return false;
    return true;
  },
  close({ body }, steps) {
    for (const step of steps) {
      step.type ??= 'model_output';
      if (step.content) step.content = mergeParts(list(step.content));
      if (step.arguments) step.arguments = closeArguments(step.arguments);
    }
    body.steps ??= steps;
    return body;
  },
};
