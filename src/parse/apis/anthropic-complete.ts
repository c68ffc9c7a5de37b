import type { ApiDescription, ApiNames } from '../api.ts';
import { list } from '../json.ts';
import { listStreaming } from '../list-streaming.ts';

/** Anthropic's first API, `/v1/complete`. Claude 2 on Bedrock sends `completion` without a model; `bedrock-invoke.ts` reads such bodies. */
export const anthropicComplete: ApiDescription<'anthropic.complete'> = {
  api: 'anthropic.complete',
  recognise: (v) => (typeof v.completion === 'string' && (v.model ?? v.log_id) ? 'either' : null),
  // A body folded from chunks has a list of choices.
  choicesIn: (body) => list(body.choices ?? [body]),
  streaming: listStreaming({
    name: 'choices',
    choicesIn: ({ completion, stop_reason, stop }) =>
      typeof completion === 'string' ? [{ completion, stop_reason, stop }] : undefined,
  }),
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  body: { id: 'log_id', text: 'completion', stopReason: 'stop_reason', sequence: 'stop' },
};
