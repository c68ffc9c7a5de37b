import type { ApiDescription, ApiNames } from '../api.ts';
import { closeArguments, itemAt, restate, type Streaming, start } from '../fold.ts';
import { list, type Obj, obj, str } from '../json.ts';
import { merge, mergeParts } from '../merge.ts';

/** Converts a delta to the fields that the step of a whole response has. */
function pieceOf(delta: Obj): Obj {
  const { content, annotations, signature } = delta;
  if (str(delta.type).startsWith('thought_'))
    return { type: 'thought', summary: content && [content], signature };
  if (annotations) return { content: [{ type: 'text', text: '', annotations }] };
  return (delta.text ?? delta.data ?? delta.uri) === undefined ? delta : { content: [delta] };
}

const streaming: Streaming = {
  ownEvents: true,
  take(fold, event) {
    const { interaction, status, usage } = event;
    // Earlier versions of the API call the events `content.delta` instead of `step.delta`.
    const type = str(event.event_type).replace('content', 'step');
    if (type === 'interaction.created') return start(fold, interaction);
    if (type === 'step.delta') merge(itemAt(fold, event.index), pieceOf(obj(event.delta)));
    else if (type === 'step.start') itemAt(fold, event.index, event.step);
    else if (/^(step|interaction)\./.test(type)) {
      restate(restate(fold.body, interaction), { status, usage });
      if (type.startsWith('interaction.complete')) fold.done = true;
    } else return false;
    return true;
  },
  close({ body }, steps) {
    for (const step of steps) {
      step.type ??= 'model_output';
      if (step.content) step.content = mergeParts(list(step.content));
      if (step.arguments) step.arguments = closeArguments(step.arguments);
    }
    if (steps.length > 0) body.steps ??= steps;
    return body;
  },
};

/** Gemini Interactions. */
export const geminiInteractions: ApiDescription<'gemini.interactions'> = {
  api: 'gemini.interactions',
  recognise: (v, object) =>
    object === 'interaction' || (Array.isArray(v.steps) && typeof v.status === 'string') ? 'body' : null,
  claimsError: ({ event_type }) => event_type,
  streaming,
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: { id: 'id', model: 'model', created: 'created', content: 'steps', status: 'status', usage: 'usage' },
  part: { signature: 'signature', sources: 'annotations' },
  kind: { text: 'text', message: 'model_output', reasoning: 'thought', call: 'function_call' },
  call: { id: 'id', name: 'name', input: 'arguments' },
  usage: {
    input: 'total_input_tokens',
    output: 'total_output_tokens',
    total: 'total_tokens',
    cached: 'total_cached_tokens',
    thoughts: 'total_thought_tokens',
    toolPrompt: 'total_tool_use_tokens',
    inputDetails: 'input_tokens_by_modality',
    outputDetails: 'output_tokens_by_modality',
  },
};
