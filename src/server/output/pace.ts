import type { Clock } from '../clock.ts';

/** Lets many writers share one timer: each that asks is woken at the end of the current window. */
export class BatchTimer {
  private readonly clock: Clock;
  private readonly ms: number;
  private waiting: (() => void)[] = [];

  constructor(clock: Clock, ms: number) {
    this.clock = clock;
    this.ms = ms;
  }

  now(): number {
    return this.clock.elapsed();
  }

  /** Whether a whole window has passed since that time. */
  isOverSince(time: number): boolean {
    return this.clock.elapsed() - time >= this.ms;
  }

  wake(callback: () => void): void {
    if (this.waiting.push(callback) > 1) return;
    this.clock.after(this.ms, () => {
      const woken = this.waiting;
      this.waiting = [];
      for (const call of woken) call();
    });
  }
}

/**
 * Tells one reader when what has arrived should leave. What a person waits for never waits; words leave at once when nothing
 * left within the last window, and gather otherwise, no longer than a window.
 */
export class Departure {
  private readonly window: BatchTimer;
  private readonly leave: () => void;
  private leftAt = Number.NEGATIVE_INFINITY;
  private isPlanned = false;

  constructor(window: BatchTimer, leave: () => void) {
    this.window = window;
    this.leave = leave;
  }

  /** Something arrived that is to be sent. Asked for every token: while words gather, nothing is looked up. */
  arrived(type: string | undefined): void {
    const isWord = type === 'text-delta' || type === 'reasoning-delta';
    if (isWord && this.isPlanned) return;
    if (isWord && !this.window.isOverSince(this.leftAt)) this.later();
    else this.leave();
  }

  /** What there is leaves at the end of the window. */
  later(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.window.wake(() => {
      this.isPlanned = false;
      this.leave();
    });
  }

  /** Something left just now. */
  left(): void {
    this.leftAt = this.window.now();
  }
}

/** Beats for all idle connections with one timer, and rests when there is none. */
export class Heartbeat {
  private readonly clock: Clock;
  private readonly ms: number;
  private readonly members = new Set<() => void>();
  private cancel: (() => void) | null = null;

  constructor(clock: Clock, ms: number) {
    this.clock = clock;
    this.ms = ms;
  }

  join(beat: () => void): () => void {
    this.members.add(beat);
    this.cancel ??= this.clock.after(this.ms, () => this.beat());
    return () => {
      this.members.delete(beat);
      if (this.members.size > 0) return;
      this.cancel?.();
      this.cancel = null;
    };
  }

  private beat(): void {
    this.cancel = this.clock.after(this.ms, () => this.beat());
    for (const member of [...this.members]) member();
  }
}
