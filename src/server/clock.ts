/** Time as the server sees it; tests pass their own. */
export interface Clock {
  now(): number;
  /** Calls back after that many milliseconds; the returned function cancels. */
  after(ms: number, callback: () => void): () => void;
}

/** The real time. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    timer.unref?.();
    return () => clearTimeout(timer);
  },
};
