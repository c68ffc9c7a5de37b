import type { AgentRun } from './agent-run.ts';
import type { Answers } from './answers.ts';
import type { CallEnds } from './call-ends.ts';
import type { Calls } from './calls.ts';
import type { Executions } from './executions.ts';
import { closing, type Inbox } from './inbox.ts';
import type { Presence, Shared } from './shared.ts';
import type { TurnEnds } from './turn-ends.ts';

/** What the life of a session needs of other parts. */
interface Needs extends Shared {
  readonly answers: Answers;
  readonly callEnds: CallEnds;
  readonly calls: Calls;
  readonly executions: Executions;
  readonly inbox: Inbox;
  readonly run: AgentRun;
  readonly turnEnds: TurnEnds;
}

/** The life of a session in this process: who is there, when it wakes up, and its end. */
export class Life implements Presence {
  /** `leaving`: nobody came back, and the agent ends its answer. `abandoned`: nothing runs any more. `closed`: the process ends, or the session is removed. */
  private state: 'open' | 'leaving' | 'abandoned' | 'closed' = 'open';
  private isHeard = false;
  private wakesAt: number | null = null;
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  get isOpen(): boolean {
    return this.state === 'open' || this.state === 'leaving';
  }

  get isClosed(): boolean {
    return this.state === 'closed';
  }

  /** Whether someone listens. */
  get hasListener(): boolean {
    return this.isHeard;
  }

  /** Nobody is there, and nothing runs: what still ends is written down, but the agent is not asked to go on. */
  get isAbandoned(): boolean {
    return !this.isOpen && !this.parts.isResponding;
  }

  /** Someone is there: takes up what another run, or another process, left open. */
  joined(): void {
    const { isResponding, calls, inbox } = this.parts;
    if (this.state === 'closed') return;
    this.state = 'open';
    this.isHeard = true;
    if (isResponding) return;
    calls.takeUp();
    inbox.advance();
  }

  left(): void {
    this.isHeard = false;
  }

  /** Nobody came back. An answer in progress is finished, and kept; then the run is let go of. */
  abandoned(): void {
    if (this.state === 'open') this.state = 'leaving';
  }

  private letGo(): void {
    const { run, inbox } = this.parts;
    if (this.parts.isBusy || inbox.isBeginning) return;
    this.state = 'abandoned';
    run.close();
  }

  shutDown(): void {
    const { core, run, open, isResponding, inbox, answers, turnEnds } = this.parts;
    this.state = 'closed';
    inbox.refuseAll();
    answers.takeHeld();
    for (const { asker } of open.takeAccepting()) core.emit({ type: 'refuse', asker, error: closing() });
    core.emit({ type: 'abort-tools' });
    if (isResponding) turnEnds.interrupt();
    else if (!run.isNone) run.letGo();
  }

  /** Time has passed: what ran out of it ends, if someone hears of it, and what could not be begun is begun again. */
  time(): void {
    const { isResponding, inbox, callEnds, executions } = this.parts;
    this.wakesAt = null;
    if (isResponding) return;
    if (this.isHeard) {
      callEnds.expire();
      executions.time();
    }
    inbox.time();
  }

  /** Wakes up when the next call runs out of time, while someone listens, or when something is begun again. */
  arm(): void {
    const { core, isResponding } = this.parts;
    if (this.state === 'leaving') this.letGo();
    const at = isResponding ? null : this.nextTime();
    if (at === this.wakesAt) return;
    this.wakesAt = at;
    core.emit({ type: 'wake', at });
  }

  private nextTime(): number | null {
    const { open, inbox, executions } = this.parts;
    // After the end the next process expires what is still open: its messages may be forgotten here.
    if (!this.isHeard || this.isClosed) return inbox.retryAt;
    return earlier(inbox.retryAt, earlier(open.nextDeadline(), executions.retryAt));
  }
}

/** Asked for every token: nothing is made for it. */
function earlier(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
