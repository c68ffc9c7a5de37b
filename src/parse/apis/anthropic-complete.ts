import type { ApiDescription, ApiNames } from '../api.ts';
import { list } from '../json.ts';
import { listStreaming } from '../list-streaming.ts';

/** Anthropic's first API, `/v1/complete`; Claude 2 behind Bedrock has the same text without a model's name. */
export const anthropicComplete: ApiDescription<'anthropic.complete'> = {
  api: 'anthropic.complete',
  recognise: (v) => (typeof v.completion === 'string' && (v.model ?? v.log_id) ? 'either' : null),
  // A body that is folded from chunks has the list of the fold.
  choicesIn: (body) => list(body.choices ?? [body]),
  streaming: listStreaming({
    name: 'choices',
    choicesIn: ({ completion, stop_reason, stop }) =>
      typeof completion === 'string' ? [{ completion, stop_reason, stop }] : undefined,
  }),
};

/** Its names for what every API has; the labels in the readers are made of them. */
export const names: ApiNames = {
  body: { id: 'log_id', text: 'completion', stopReason: 'stop_reason', sequence: 'stop' },
};
