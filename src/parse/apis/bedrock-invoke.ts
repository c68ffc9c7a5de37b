import type { ApiDescription, ApiNames } from '../api.ts';
import { addBedrockFields } from '../fold.ts';
import { list, type Obj, obj } from '../json.ts';
import { listStreaming } from '../list-streaming.ts';

/** Returns the model family of a body or chunk; null when no family has bodies or chunks of this shape. */
function familyOf(v: Obj): string | null {
  const { text, is_finished } = v;
  if (typeof v.generation === 'string') return 'llama';
  if ((v.outputText ?? v.inputTextTokenCount) !== undefined && !v.embedding) return 'titan';
  if (obj(list(v.outputs)[0]).text !== undefined) return 'mistral';
  if (v.generations ?? (is_finished !== undefined && !v.event_type)) return 'cohere';
  if (is_finished !== undefined || (typeof text === 'string' && (v.finish_reason ?? v.generation_id)))
    return 'command-r';
  if (v.completions) return 'ai21';
  return typeof v.completion === 'string' ? 'claude-v2' : null;
}

/** Returns the choices of a body. A body that was folded from chunks has them in `choices`. A body without a list is itself the only choice. */
function choicesIn(body: Obj): readonly unknown[] {
  return list(body.choices ?? body.results ?? body.outputs ?? body.generations ?? body.completions ?? [body]);
}

/** Bedrock InvokeModel, for the model families whose bodies do not have the shape of another API. */
export const bedrockInvoke: ApiDescription<`bedrock.invoke.${string}`> = {
  api: 'bedrock.invoke.',
  recognise: (value) => (familyOf(value) ? 'either' : null),
  familyOf,
  choicesIn,
  streaming: listStreaming({
    name: 'choices',
    choicesIn: (event, api) => (api.endsWith(`.${familyOf(event)}`) ? choicesIn(event) : undefined),
    takeRest: addBedrockFields,
  }),
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: {
    id: 'generation_id',
    content: 'content',
    text: 'outputs text generation outputText completion',
    textOfData: 'data',
    meta: 'meta',
    guardrail: 'amazon-bedrock-guardrailAction',
    finishReason: 'finish_reason',
    stopReason: 'stop_reason finishReason completionReason',
    sequence: 'stop',
    safety: 'amazon-bedrock-trace',
    metrics: 'amazon-bedrock-invocationMetrics',
  },
  call: { name: 'name', input: 'parameters' },
  source: { text: 'text' },
  usage: {
    input: 'prompt_token_count inputTokenCount inputTextTokenCount input_tokens',
    output: 'generation_token_count outputTokenCount totalOutputTextTokenCount output_tokens',
    outputOfResults: 'results',
  },
};
