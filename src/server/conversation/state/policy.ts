import type { SessionOptions } from '../../engine.ts';
import type { Wire } from './effects.ts';

/** How a conversation behaves over one transport, with an agent that is driven live or turn by turn. */
export interface Policy {
  /** Whether the approval requests of a step are shown together, or each only after the previous one is decided. */
  approvalsTogether: boolean;
  /** How long an approval request waits, unless its tool defines another time; null means no limit. */
  approvalTimeoutMs: number | null;
  /**
   * Whether each request gets an HTTP response of its own, which ends when everything open waits for the user or the browser. A queued request then
   * keeps its connection open, so it is not stored in the queue, and it is rejected when the server closes.
   */
  hasResponse: boolean;
  /** Whether a new user message ends the open calls, or leaves them open. */
  newMessage: 'supersedes' | 'goes-beside';
  /** Whether a message that comes while the agent works interrupts it; otherwise the message waits. */
  interruptsWhenBusy: boolean;
  /** Whether a copy of a message is ignored, because a client sends a message again after it lost its connection. */
  ignoresRepeats: boolean;
  /** Whether an approval request is surrounded by step chunks. */
  steps: boolean;
  /** Whether a browser tool with an optimistic output is answered with that output at once. */
  optimistic: boolean;
  /** Whether the agent's run ends when it waits for a call, and another run continues when the call is answered. */
  pauseEndsRun: boolean;
}

/** The policies of a server, by transport and driver. No other code of the conversation checks which transport is used. */
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
