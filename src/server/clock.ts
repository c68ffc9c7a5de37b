export { systemClock } from '../models/retry-policy.ts';

/** The clock of the server. Tests replace it. */
export interface Clock {
  /** Milliseconds since 1970, for times that are stored or sent. It may be set back. */
  now(): number;
  /** Milliseconds since an arbitrary moment, for durations within this process, such as limits and timeouts. It never goes back. */
  elapsed(): number;
  /** Calls `callback` after that many milliseconds; the returned function cancels the call. */
  after(ms: number, callback: () => void): () => void;
}

/** Waits for work, but no longer than `ms` milliseconds. Resolves with false when the time ran out first. Rejects when the work does. */
export async function settlesWithin(work: Promise<unknown>, ms: number, clock: Clock): Promise<boolean> {
  let cancel: () => void = () => undefined;
  const late = new Promise<boolean>((resolve) => {
    cancel = clock.after(ms, () => resolve(false));
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    cancel();
  }
}

/**
 * A clock whose `now` never goes back. When the wall clock is set back, `now` continues from where it was, so
 * that deadlines that clients already know still hold. After a restart of the process, `now` is the time of the wall clock again.
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

/** Resolves after the event loop has handled pending I/O, so that long work in steps does not block other users. */
export function nextRound(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
