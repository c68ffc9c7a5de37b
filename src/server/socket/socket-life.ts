import type { Clock } from '../clock.ts';
import type { SocketLimits } from './socket.ts';

/** What the life of a socket is measured by. */
export interface SocketLifeContext {
  clock: Clock;
  limits: SocketLimits;
  ping: () => void;
  /** The other side is gone, or nothing happens any more. */
  onEnd: (why: string) => void;
}

/** Finds out about clients that are gone without a word, and about those that only sit there. */
export class SocketLife {
  private readonly context: SocketLifeContext;
  private aliveAt: number;
  /** When something was said last, as far as it is known. */
  private activeAt: number;
  /** The newest entry of the log at the last beat. */
  private seqAtBeat = 0;
  private cancel: (() => void) | null = null;

  constructor(context: SocketLifeContext) {
    this.context = context;
    this.activeAt = context.clock.elapsed();
    this.aliveAt = this.activeAt;
  }

  /** The other side is still there. */
  noteAlive(): void {
    this.aliveAt = this.context.clock.elapsed();
  }

  /** A frame came: the other side is there, and says something. */
  noteFrame(): void {
    this.aliveAt = this.context.clock.elapsed();
    this.activeAt = this.aliveAt;
  }

  /** Someone said something. */
  noteActivity(): void {
    this.activeAt = this.context.clock.elapsed();
  }

  /** Begins to look. `log` is asked at each beat for what was said meanwhile. */
  begin(log: { readonly last: number }): void {
    this.seqAtBeat = log.last;
    this.beat(log);
  }

  end(): void {
    this.cancel?.();
  }

  private beat(log: { readonly last: number }): void {
    const { clock, limits, ping, onEnd } = this.context;
    this.cancel = clock.after(limits.heartbeatMs, () => {
      if (clock.elapsed() - this.aliveAt >= limits.silenceMs) return onEnd('No sign of life.');
      if (log.last !== this.seqAtBeat) this.noteActivity();
      this.seqAtBeat = log.last;
      if (clock.elapsed() - this.activeAt > limits.idleMs) return onEnd('Nothing happened for a long time.');
      ping();
      this.beat(log);
    });
  }
}
