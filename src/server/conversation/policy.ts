import type { SessionOptions } from '../engine.ts';
import type { Wire } from './wire.ts';

/** How a conversation behaves on a wire. */
export interface Policy {
  /** Whether the cards of a step are shown together, or each when the one before is settled. */
  cardsTogether: boolean;
  /** How long a card waits; null is for ever. */
  approvalTimeoutMs: number | null;
  /** Whether the response ends when everything that is open waits for the person or the browser. */
  pauseEndsResponse: boolean;
  /** What a new message of the person does to calls that are open. */
  newMessage: 'supersedes' | 'goes-beside';
  /** Whether requests stand between steps. */
  steps: boolean;
}

/** The policies of a server: what the two wires have in common is not here. */
export function policies(options: SessionOptions): Readonly<Record<Wire, Policy>> {
  const { approvals, approvalTimeoutMs } = options;
  return {
    sse: {
      cardsTogether: true,
      approvalTimeoutMs: approvalTimeoutMs.sse,
      pauseEndsResponse: true,
      newMessage: 'supersedes',
      steps: false,
    },
    bidi: {
      cardsTogether: approvals === 'parallel',
      approvalTimeoutMs: approvalTimeoutMs.bidi,
      pauseEndsResponse: false,
      newMessage: 'goes-beside',
      steps: true,
    },
  };
}
