import type { Clock } from '../../../src/server/index.ts';

/** Fake time that advances only when a test says so. */
export interface FakeClock extends Clock {
  /** Lets time pass, timers included. */
  pass(ms: number): void;
  /** Sets the wall clock back, as an administrator might. */
  setBack(ms: number): void;
}

/** A clock for tests. */
export function fakeClock(start = 1_000_000): FakeClock {
  let now = start;
  let back = 0;
  let timers: { at: number; call: () => void }[] = [];
  return {
    now: () => now - back,
    elapsed: () => now,
    setBack(ms) {
      back += ms;
    },
    after(ms, call) {
      const timer = { at: now + ms, call };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    pass(ms) {
      const end = now + ms;
      for (;;) {
        const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        now = next.at;
        timers = timers.filter((other) => other !== next);
        next.call();
      }
      now = end;
    },
  };
}
