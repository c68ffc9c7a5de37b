import type { Timer } from '../../src/models/patience.ts';

/** Time that passes so many times faster than it does. */
export function fastTimer(factor: number): Timer {
  return {
    now: () => performance.now() * factor,
    after(ms, callback) {
      const timer = setTimeout(callback, Math.max(ms, 0) / factor);
      return () => clearTimeout(timer);
    },
  };
}
