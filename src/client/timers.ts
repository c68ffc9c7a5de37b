/** Time and chance as the client needs them; tests bring their own. */
export interface Timers {
  now(): number;
  random(): number;
  /** Runs the work after so many milliseconds; the returned function cancels it. */
  after(ms: number, work: () => void): () => void;
}

/** The timers of the page. */
export const systemTimers: Timers = {
  now: () => Date.now(),
  random: () => Math.random(),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
