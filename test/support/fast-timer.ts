import type { Timer } from '../../src/models/retry-policy.ts';

/** The time between two checks of the clock, and the most time that counts as passed between two checks. */
const LOOK_MS = 5;
const STEP_MS = 10;

/**
 * A timer that runs `factor` times faster than real time. While a busy machine does not run this process, timeouts hardly advance: input that arrived
 * meanwhile is read before they end.
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
