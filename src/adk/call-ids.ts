import { type Event, getFunctionCalls, getFunctionResponses, type LlmRequest } from '@google/adk';

/**
 * Reserves the id that a model gave to a call. Resolves with false when the conversation has had a call with this id, which the model may not have seen: in a
 * turn that was discarded, in another branch, or inside an agent that is used as a tool. That call needs another id. Never rejects.
 */
export type ClaimCallId = (id: string) => Promise<boolean>;

const CLAIM = Symbol('duologue.claim-call-id');

interface WithClaim {
  [CLAIM]?: ClaimCallId;
}

/** Gives a model call, or a live connection, the function with which it reserves the ids of calls. */
export function addClaim(request: LlmRequest, claim: ClaimCallId): void {
  (request as WithClaim)[CLAIM] = claim;
}

/**
 * Removes and returns the function with which a model call reserves the ids of calls. It is removed because a model of the application may pass the request to
 * another model, and an id can be reserved only once.
 */
export function takeClaim(request: WithClaim & LlmRequest): ClaimCallId | undefined {
  const claim = request[CLAIM];
  if (claim) delete request[CLAIM];
  return claim;
}

/** Whether an event makes or answers a call with this id. */
export function concernsCall(event: Event, id: string): boolean {
  return (
    getFunctionCalls(event).some((call) => call.id === id) ||
    getFunctionResponses(event).some((response) => response.id === id)
  );
}
