export { systemClock } from '../models/retry-policy.ts';

/** Time as the server sees it; tests pass their own. */
export interface Clock {
  /** Milliseconds since 1970, for what is stored or told. May be set back. */
  now(): number;
  /** Milliseconds since some moment, for what the process measures by itself: limits, silence. Never set back. */
  elapsed(): number;
  /** Calls back after that many milliseconds; the returned function cancels. */
  after(ms: number, callback: () => void): () => void;
}

/** Waits for the work, but not for long: false when it is late. Fails as the work does. */
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
