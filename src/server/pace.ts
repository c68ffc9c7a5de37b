import type { Clock } from './clock.ts';

/** Lets many writers share one timer: each that asks is woken at the end of the current window. */
export class Window {
  private readonly clock: Clock;
  private readonly ms: number;
  private waiting: (() => void)[] = [];

  constructor(clock: Clock, ms: number) {
    this.clock = clock;
    this.ms = ms;
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

/** Beats for all idle connections with one timer, and rests when there is none. */
export class Pulse {
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
