import type { Clock } from '../clock.ts';
import { StoreUnavailable } from './store.ts';

const MIN_WAIT_MS = 500;
const MAX_WAIT_MS = 5000;

/** When a write is given up, and what is called when it has to wait. */
export interface Persistence {
  clock: Clock;
  /** Whether the write is of no use any more: another process owns the session, or it was removed. */
  isOver: () => boolean;
  /** Called once, when the write failed for the first time. */
  onWait: (error: StoreUnavailable) => void;
}

/**
 * Writes what the person has already read, and must not be lost: while the store is unavailable the write is tried again, with growing waits.
 * Rejects as the write does when it fails for another reason, such as a later owner, or when it is of no use any more.
 */
export async function untilStored<T>(write: () => Promise<T>, persistence: Persistence): Promise<T> {
  const { clock, isOver, onWait } = persistence;
  let wait = MIN_WAIT_MS;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || isOver()) throw error;
      if (wait === MIN_WAIT_MS) onWait(error);
    }
    await new Promise<void>((resolve) => {
      clock.after(wait, resolve);
    });
    wait = Math.min(wait * 2, MAX_WAIT_MS);
  }
}
