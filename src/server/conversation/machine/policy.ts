import type { Driver } from '../../../adk/for-server.ts';
import type { SessionOptions } from '../../engine.ts';
import type { Wire } from './wire.ts';

/** How a conversation behaves on a wire, with an agent that is driven in one way or the other. */
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
  /** Whether a browser tool that has an optimistic output is answered with it at once. */
  optimistic: boolean;
  /** Whether the agent's run ends when it waits for a call, and another goes on when the call is answered. */
  pauseEndsRun: boolean;
}

/** The policies of a server, by wire and by what drives the agent: what all have in common is not here. */
export type Policies = Readonly<Record<Wire, Partial<Readonly<Record<Driver, Policy>>>>>;

/** What is posted is answered turn by turn; over a socket an agent is driven live, or turn by turn when it has no live mode. */
export function policies({ approvals, approvalTimeoutMs }: SessionOptions) {
  const post = {
    cardsTogether: true,
    approvalTimeoutMs: approvalTimeoutMs.sse,
    pauseEndsResponse: true,
    newMessage: 'supersedes',
    steps: false,
    optimistic: true,
  } as const;
  const socket = {
    cardsTogether: approvals === 'parallel',
    approvalTimeoutMs: approvalTimeoutMs.bidi,
    pauseEndsResponse: false,
    newMessage: 'goes-beside',
    steps: true,
    optimistic: false,
  } as const;
  return {
    sse: { turn: { pauseEndsRun: true, ...post } },
    bidi: { live: { pauseEndsRun: false, ...socket }, turn: { pauseEndsRun: true, ...socket } },
  } satisfies Policies;
}
