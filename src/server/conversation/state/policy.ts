import type { SessionOptions } from '../../engine.ts';
import type { Wire } from './effects.ts';

/** How a conversation behaves over one transport, with an agent that is driven live or turn by turn. */
export interface Policy {
  /** Whether the approval requests of a step are shown together, as opposed to one after the other, each when the previous call has ended. */
  approvalsTogether: boolean;
  /** The time limit of an approval request, unless its tool defines another; null means no limit. */
  approvalTimeoutMs: number | null;
  /**
   * Whether each request gets its own HTTP response, which ends when every open call waits for the user or the browser. While such a request is
   * queued, its connection stays open. So it is not stored in the queue, and it is rejected when the server closes.
   */
  hasResponse: boolean;
  /** Whether a new user message ends the open calls (`supersedes`) or leaves them open (`goes-beside`). */
  newMessage: 'supersedes' | 'goes-beside';
  /** Whether a user message that arrives while the agent works interrupts the agent, as opposed to waiting in the queue. */
  interruptsWhenBusy: boolean;
  /** Whether a second copy of a user message is ignored. Over a socket a client sends a message again after it lost its connection. */
  ignoresRepeats: boolean;
  /** Whether `start-step` and `finish-step` surround an approval request. */
  steps: boolean;
  /** Whether the agent gets the optimistic output that a browser tool may define at once, instead of waiting for the browser. */
  optimistic: boolean;
  /** Whether the agent's run ends when it waits for a call. Another run then continues when the call is answered. */
  pauseEndsRun: boolean;
}

/** The policies of a server for both transports and the driver of its agent. No other code of the state checks which transport is used. */
export class Policies {
  private readonly sse: Policy;
  private readonly bidi: Policy;

  constructor({ approvals, approvalTimeoutMs, whenBusy, driver }: SessionOptions) {
    this.sse = {
      approvalsTogether: true,
      approvalTimeoutMs: approvalTimeoutMs.sse,
      hasResponse: true,
      newMessage: 'supersedes',
      interruptsWhenBusy: false,
      ignoresRepeats: false,
      steps: false,
      optimistic: true,
      pauseEndsRun: true,
    };
    this.bidi = {
      approvalsTogether: approvals === 'parallel',
      approvalTimeoutMs: approvalTimeoutMs.bidi,
      hasResponse: false,
      newMessage: 'goes-beside',
      interruptsWhenBusy: whenBusy === 'interrupt',
      ignoresRepeats: true,
      steps: true,
      optimistic: false,
      pauseEndsRun: driver === 'turn',
    };
  }

  for(wire: Wire): Policy {
    return wire === 'sse' ? this.sse : this.bidi;
  }
}
