import type { Clock } from '../clock.ts';

/** The shortest time between two calls of `work`. */
const PACE_MS = 200;
/** The largest size, as JSON, of a value that a tool reports while it runs. */
export const VALUE_BYTES = 32 * 1024;

/** Performs work at most five times a second: at once, or `PACE_MS` after the last time. */
export class Throttle {
  private readonly clock: Clock;
  private readonly work: () => void;
  /** Before this time the work is not performed. */
  private nextAt: number;
  private cancelTimer: (() => void) | null = null;

  constructor(clock: Clock, work: () => void) {
    this.clock = clock;
    this.work = work;
    this.nextAt = clock.elapsed();
  }

  /** Performs the work now, or, if it was performed less than `PACE_MS` ago, when `PACE_MS` have passed. Further requests until then have no effect. */
  request(): void {
    if (this.cancelTimer) return;
    const now = this.clock.elapsed();
    if (now >= this.nextAt) {
      this.nextAt = now + PACE_MS;
      return this.work();
    }
    this.cancelTimer = this.clock.after(this.nextAt - now, () => {
      this.cancelTimer = null;
      this.request();
    });
  }

  /** Cancels work that was requested and not performed yet. */
  cancel(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }
}

/**
 * A copy of a value as plain JSON values, which later changes by the tool do not affect, and its size as JSON. Throws when the value is too large or
 * cannot be written as JSON.
 */
export function jsonOf(value: unknown): { value: unknown; bytes: number } {
  const text = JSON.stringify(value) ?? 'null';
  const bytes = Buffer.byteLength(text);
  if (bytes > VALUE_BYTES)
    throw new Error(`the value may have at most ${VALUE_BYTES} bytes, but it has ${bytes}`);
  return { value: JSON.parse(text), bytes };
}
