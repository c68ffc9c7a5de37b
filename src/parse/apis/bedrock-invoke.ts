import type { ApiDescription, ApiNames } from '../api.ts';
import { noteBedrock } from '../fold.ts';
import { list, type Obj, obj } from '../json.ts';
import { listStreaming } from '../list-streaming.ts';

/** The family of a body or chunk that has a shape of its own. */
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

/** A body without a list is its own only choice; those that are folded from chunks have the list of the fold. */
function choicesIn(body: Obj): readonly unknown[] {
  return list(body.choices ?? body.results ?? body.outputs ?? body.generations ?? body.completions ?? [body]);
}

/** Bedrock InvokeModel: the families of models whose shape is no other API's. */
export const bedrockInvoke: ApiDescription<`bedrock.invoke.${string}`> = {
  api: 'bedrock.invoke.',
  recognise: (value) => (familyOf(value) ? 'either' : null),
  familyOf,
  choicesIn,
  streaming: listStreaming({
    name: 'choices',
    choicesIn: (event, api) => (api.endsWith(`.${familyOf(event)}`) ? choicesIn(event) : undefined),
    takeRest: noteBedrock,
  }),
};

/** Its names for what every API has; the labels in the readers are made of them. */
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
