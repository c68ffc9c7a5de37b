import { ProtocolError } from '../../protocol/index.ts';
import type { Parts } from './parts.ts';

/** The life of a session in this process: who is there, when it wakes up, and its end. */
export class Life {
  /** `abandoned`: nobody came back. `closed`: the process ends, or the session is removed. */
  private state: 'open' | 'abandoned' | 'closed' = 'open';
  private isHeard = false;
  private wakesAt: number | null = null;
  private readonly parts: Parts;

  constructor(parts: Parts) {
    this.parts = parts;
  }

  get isOpen(): boolean {
    return this.state === 'open';
  }

  get isClosed(): boolean {
    return this.state === 'closed';
  }

  /** Whether someone listens. */
  get hasListener(): boolean {
    return this.isHeard;
  }

  /** Nobody came back: what still ends is written down, but the agent is not asked to go on. */
  get isAbandoned(): boolean {
    return this.state !== 'open' && !this.parts.responses.current;
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

  abandoned(): void {
    const { responses, run } = this.parts;
    if (this.state !== 'closed') this.state = 'abandoned';
    if (!responses.current) run.close();
  }

  shutDown(): void {
    const { core, run, responses, inbox, answers, turnEnds } = this.parts;
    this.state = 'closed';
    inbox.refuseAll();
    answers.takeHeld();
    core.emit({ type: 'abort-tools' });
    if (responses.current) turnEnds.interrupt();
    else if (!run.isNone) run.letGo();
  }

  /** Time has passed: what ran out of it ends, if someone hears of it. */
  time(): void {
    const { responses, callEnds } = this.parts;
    this.wakesAt = null;
    if (this.isHeard && !responses.current) callEnds.expire();
  }

  /** Wakes up when the next call runs out of time, while someone listens. */
  arm(): void {
    const { core, open, responses } = this.parts;
    const at = this.isHeard && !responses.current ? open.nextDeadline() : null;
    if (at === this.wakesAt) return;
    this.wakesAt = at;
    core.emit({ type: 'wake', at });
  }
}

/** Why nothing begins any more. */
export function closing(): ProtocolError {
  return new ProtocolError('shutting_down', 'The server is restarting. Try again in a moment.');
}
