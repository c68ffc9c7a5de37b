import type { LlmResponse } from '@google/adk';
import { withLiveFacts } from '../adk/live-facts.ts';
import type { WaitingReason } from '../protocol/index.ts';

/** The response that tells that the model is asked again later. ADK passes it on as an event that it does not keep. */
export function waitingResponse(reason: WaitingReason, retryAt: number): LlmResponse {
  return {
    partial: true,
    // ADK drops what has neither content nor counts.
    usageMetadata: {},
    ...withLiveFacts({ waiting: { reason, retryAt } }),
  };
}
