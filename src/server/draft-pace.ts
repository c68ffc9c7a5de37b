import type { Clock } from './clock.ts';

/** The part of the time that may go into drafts, all sessions together. */
const SHARE = 0.05;
/** How long what is said may be in memory only: at least, because nobody reads faster, and at most. */
const MIN_MS = 100;
const MAX_MS = 1000;

/** Says how soon a draft may be written, so that those of all sessions together take a small part of the time. */
export class DraftPace {
  private readonly clock: Clock;
  /** Until when the drafts that were written have used up their share. */
  private paidUntil = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** How long from now the next draft of a session may wait. The first words of a message are kept at once, if that can be afforded. */
  delayMs({ isFirst }: { isFirst: boolean }): number {
    return Math.min(MAX_MS, Math.max(isFirst ? 0 : MIN_MS, this.paidUntil - this.clock.elapsed()));
  }

  /** Counts the time that writing a draft takes. */
  async spend(write: () => Promise<unknown>): Promise<void> {
    const began = this.clock.elapsed();
    await write();
    const now = this.clock.elapsed();
    this.paidUntil = Math.max(this.paidUntil, began) + (now - began) / SHARE;
  }
}
