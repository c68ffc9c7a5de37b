import type { Session as AdkSession, Event, EventActions } from '@google/adk';
import { type Outcome, responseEvent, toResponse } from '../../adk/for-server.ts';
import { exhaustive } from '../../protocol/exhaustive.ts';
import { type Chunk, denialText, INTERRUPTED, SIGNED_OUT } from '../../protocol/index.ts';
import type { CallRecord } from '../store/store.ts';

/**
 * How a call ends: the tool's outcome, a denial, or a text that says why there is none. An outcome may have changes, and
 * with them the session that they were made from.
 */
export type Settlement =
  | { kind: 'output'; output: unknown; actions?: EventActions; session?: AdkSession }
  | Failure
  | { kind: 'denied'; reason: string | null };

/** The end of a call that gave nothing. */
export interface Failure {
  kind: 'error';
  errorText: string;
  interrupted?: true;
}

/** The end of a call that the person, or the model, wants no more of. */
export const INTERRUPTION: Settlement = { kind: 'error', errorText: INTERRUPTED, interrupted: true };

/** The end of a call that someone approved who is signed in no more. */
export const SIGNED_OUT_END: Failure = { kind: 'error', errorText: SIGNED_OUT };

/** A deferred tool's outcome as a settlement. */
export function settlementOf(outcome: Exclude<Outcome, { kind: 'asks' }>): Settlement {
  return outcome.kind === 'waits' ? { kind: 'output', output: null } : outcome;
}

/** What the model gets for the call. */
export function responseOf(settlement: Settlement): Record<string, unknown> {
  switch (settlement.kind) {
    case 'output':
      return toResponse(settlement.output);
    case 'error':
      return { error: settlement.errorText, ...(settlement.interrupted ? { interrupted: true } : {}) };
    case 'denied':
      return { error: denialText(settlement.reason ?? undefined) };
    default:
      return exhaustive(settlement);
  }
}

/** The event that answers the call in the history; it says how the answer is meant. */
export function endEvent(call: CallRecord, settlement: Settlement): Event {
  const { id, toolName: name } = call;
  const response = responseOf(settlement);
  const isOutput = settlement.kind === 'output';
  return responseEvent(call, [{ id, name, response }], isOutput ? settlement.actions : undefined, {
    settled: settlement.kind,
    ...(isOutput && response !== settlement.output ? { wrapped: true } : {}),
  });
}

/** What the person gets for the call. */
export function outputChunk(
  toolCallId: string,
  settlement: Settlement,
  denials: 'tool-output-error' | 'tool-output-denied',
): Chunk {
  switch (settlement.kind) {
    case 'output':
      return { type: 'tool-output-available', toolCallId, output: settlement.output ?? null };
    case 'error':
      return { type: 'tool-output-error', toolCallId, errorText: settlement.errorText };
    case 'denied':
      return denials === 'tool-output-denied'
        ? { type: 'tool-output-denied', toolCallId }
        : { type: 'tool-output-error', toolCallId, errorText: denialText(settlement.reason ?? undefined) };
    default:
      return exhaustive(settlement);
  }
}
