import type { Clock } from '../server/index.ts';

/**
 * A clock that advances only when a test calls `advance`. Give it to `createDuologue({ clock })`. Then approval requests expire, tools time out and model
 * calls are repeated when the test advances the clock, and never because the machine is slow.
 *
 * @example
 * const time = new FakeTime();
 * const duologue = createDuologue({ agent, clock: time });
 * time.advance(30_000);
 */
export class FakeTime implements Clock {
  #time: number;
  #back = 0;
  #timers: { at: number; callback: () => void }[] = [];

  /** `start`: the first time, in milliseconds since 1970. */
  constructor(start = 1_700_000_000_000) {
    this.#time = start;
  }

  now(): number {
    return this.#time - this.#back;
  }

  elapsed(): number {
    return this.#time;
  }

  /** Sets the wall clock back, as an administrator would. Durations are not affected. */
  setBack(ms: number): void {
    this.#back += ms;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#time + Math.max(ms, 0), callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Advances the time and calls the timers that are due, in order. Asynchronous work that a timer starts is not awaited: wait for its result. */
  advance(ms: number): void {
    const end = this.#time + ms;
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#time = Math.max(this.#time, next.at);
      next.callback();
    }
    this.#time = end;
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.length;
  }
}
