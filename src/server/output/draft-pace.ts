import type { Clock } from '../clock.ts';

/** The part of the time that may go into drafts, all sessions together. */
const SHARE = 0.005;
/** How long what is said may be in memory only: at least, because nobody reads faster, and at most. */
const MIN_MS = 100;
const MAX_MS = 1000;
/** The same for what a new owner finds in the log: a draft is for the loss of both, and the fewer the better. */
const KEPT_MS = 12_000;

/** Says how soon a draft may be written, so that those of all sessions together take a small part of the time. */
export class DraftPace {
  private readonly clock: Clock;
  /** What a draft takes: as long as the last one did. Before the first, a guess. */
  private costMs = 0.5;
  /** Until when the drafts that are to be written use up their share. */
  private bookedUntil = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * How long from now the next draft of a session waits; its time is booked, so that those who begin together do not write together.
   * The first words of a message are kept at once, if that can be afforded. `isKept`: in a log that outlives the process.
   */
  book({ isFirst, isKept = false }: { isFirst: boolean; isKept?: boolean }): number {
    const now = this.clock.elapsed();
    const free = Math.max(this.bookedUntil, now);
    this.bookedUntil = Math.min(free + this.costMs / SHARE, now + MAX_MS);
    if (isKept) return KEPT_MS + free - now;
    return Math.max(isFirst ? 0 : MIN_MS, free - now);
  }

  /** Measures what writing a draft takes. */
  async spend(write: () => Promise<unknown>): Promise<void> {
    const began = this.clock.elapsed();
    await write();
    this.costMs = this.clock.elapsed() - began;
  }
}
