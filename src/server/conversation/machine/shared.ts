import type { Acceptances } from './acceptances.ts';
import type { Core } from './core.ts';
import type { Messages } from './messages.ts';
import type { OpenCalls } from './open-calls.ts';
import type { Policy } from './policy.ts';
import type { SaidBefore } from './said-before.ts';

/** Whether the session is alive in this process, and whether someone listens. */
export interface Presence {
  readonly isOpen: boolean;
  /** Whether the process ends, or the session is removed. */
  readonly isClosed: boolean;
  readonly hasListener: boolean;
  /** Nobody is there, and nothing runs: what still ends is written down, but the agent is not asked to go on. */
  readonly isAbandoned: boolean;
}

/** What all parts of the machine have. What one needs of the others beside that, it names in its own file. */
export interface Shared {
  readonly core: Core;
  readonly said: SaidBefore;
  readonly messages: Messages;
  readonly open: OpenCalls;
  readonly acceptances: Acceptances;
  readonly life: Presence;
  /** The policy of the wire that is used now, and of what drives the agent on it. */
  readonly policy: Policy;
  /** Whether the agent is at work, as opposed to waiting for the person or the browser. */
  readonly isBusy: boolean;
  /** Whether a response over SSE is being given. */
  readonly isResponding: boolean;
  /** Something was settled or shown: what waited for it may go on. */
  changed(): void;
}
