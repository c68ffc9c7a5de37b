import type { Clock } from '../../src/server/index.ts';

/** Time that passes only when a test says so. */
export class ManualClock implements Clock {
  private time: number;
  private back = 0;
  private timers: { at: number; callback: () => void }[] = [];

  constructor(start = 1_700_000_000_000) {
    this.time = start;
  }

  now(): number {
    return this.time - this.back;
  }

  elapsed(): number {
    return this.time;
  }

  /** Someone sets the time of the machine back. */
  setBack(ms: number): void {
    this.back += ms;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.time + Math.max(ms, 0), callback };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  /** Lets time pass, timers in their order. */
  advance(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((other) => other !== next);
      this.time = Math.max(this.time, next.at);
      next.callback();
    }
    this.time = end;
  }

  get pending(): number {
    return this.timers.length;
  }
}
