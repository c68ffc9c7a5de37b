import type { Clock } from './clock.ts';

/**
 * A clock whose `now` never goes back: when the wall clock is set back, time continues from where it was, so
 * that deadlines that clients already know still hold. After a restart it is the wall clock again.
 */
export function neverSetBack(clock: Clock): Clock {
  let start = Number.NEGATIVE_INFINITY;
  return {
    now() {
      const elapsed = clock.elapsed();
      start = Math.max(start, clock.now() - elapsed);
      return Math.round(start + elapsed);
    },
    elapsed: () => clock.elapsed(),
    after: (ms, callback) => clock.after(ms, callback),
  };
}
