import { ProtocolError } from '../../protocol/index.ts';
import type { Parts } from './parts.ts';

/** The life of a session in this process: who is there, when it wakes up, and its end. */
export class Life {
  /** `leaving`: nobody came back, and the agent ends its answer. `abandoned`: nothing runs any more. `closed`: the process ends, or the session is removed. */
  private state: 'open' | 'leaving' | 'abandoned' | 'closed' = 'open';
  private isHeard = false;
  private wakesAt: number | null = null;
  private readonly parts: Parts;

  constructor(parts: Parts) {
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
    return !this.isOpen && !this.parts.responses.current;
  }

  /** Someone is there: takes up what another run, or another process, left open. */
  joined(): void {
    const { responses, calls, inbox } = this.parts;
    if (this.state === 'closed') return;
    this.state = 'open';
    this.isHeard = true;
    if (responses.current) return;
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
    const { core, run, open, responses, inbox, answers, turnEnds } = this.parts;
    this.state = 'closed';
    inbox.refuseAll();
    answers.takeHeld();
    for (const { asker } of open.takeAccepting()) core.emit({ type: 'refuse', asker, error: closing() });
    core.emit({ type: 'abort-tools' });
    if (responses.current) turnEnds.interrupt();
    else if (!run.isNone) run.letGo();
  }

  /** Time has passed: what ran out of it ends, if someone hears of it, and what could not be begun is begun again. */
  time(): void {
    const { responses, inbox, callEnds, executions } = this.parts;
    this.wakesAt = null;
    if (responses.current) return;
    if (this.isHeard) {
      callEnds.expire();
      executions.time();
    }
    inbox.time();
  }

  /** Wakes up when the next call runs out of time, while someone listens, or when something is begun again. */
  arm(): void {
    const { core, open, inbox, responses, executions } = this.parts;
    if (this.state === 'leaving') this.letGo();
    const heard = this.isHeard ? [open.nextDeadline(), executions.retryAt] : [];
    const times = [...heard, inbox.retryAt].filter((time) => time !== null);
    const at = !responses.current && times.length > 0 ? Math.min(...times) : null;
    if (at === this.wakesAt) return;
    this.wakesAt = at;
    core.emit({ type: 'wake', at });
  }
}

/** Why nothing begins any more. */
export function closing(): ProtocolError {
  return new ProtocolError('shutting_down', 'The server is restarting. Try again in a moment.');
}
