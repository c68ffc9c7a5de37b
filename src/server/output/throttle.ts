import type { Clock } from '../clock.ts';

/** The time between two values of a call. */
const PACE_MS = 200;
/** The most bytes, as JSON, of a value that a tool sends while it runs. */
export const VALUE_BYTES = 32 * 1024;

/** Performs work at most five times a second: at once, or when the time since the last time is over. */
export class Throttle {
  private readonly clock: Clock;
  private readonly work: () => void;
  /** Before this time the work is not performed again. */
  private nextAt: number;
  private cancelTimer: (() => void) | null = null;

  constructor(clock: Clock, work: () => void) {
    this.clock = clock;
    this.work = work;
    this.nextAt = clock.elapsed();
  }

  /** Performs the work as soon as it may be. */
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

  /** Cancels work that was requested and not performed. */
  cancel(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }
}

/** A value as JSON values, and its size. The tool may change its own object afterwards. Throws for a value that is too large or no JSON. */
export function jsonOf(value: unknown): { value: unknown; bytes: number } {
  const text = JSON.stringify(value) ?? 'null';
  const bytes = Buffer.byteLength(text);
  if (bytes > VALUE_BYTES) throw new Error(`it has ${bytes} bytes, and ${VALUE_BYTES} are allowed`);
  return { value: JSON.parse(text), bytes };
}
