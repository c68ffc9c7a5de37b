import type { Timer } from '../../src/models/retry-policy.ts';

/** How often it is looked at what came meanwhile, and the most that counts as waited between two looks. */
const LOOK_MS = 5;
const STEP_MS = 10;

/**
 * Time that passes so many times faster than it does. Where a process gets nothing of a busy machine for a while, whoever waits goes on
 * waiting: what came in that while is read before anybody is too late.
 */
export function fastTimer(factor: number): Timer {
  return {
    now: () => performance.now() * factor,
    after(ms, callback) {
      let left = Math.max(ms, 0) / factor;
      let seenAt = performance.now();
      let timer = setTimeout(look, Math.min(left, LOOK_MS));
      function look(): void {
        const now = performance.now();
        left -= Math.min(now - seenAt, STEP_MS);
        seenAt = now;
        if (left > 0) timer = setTimeout(look, Math.min(left, LOOK_MS));
        else callback();
      }
      return () => clearTimeout(timer);
    },
  };
}
