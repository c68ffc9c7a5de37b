import { ProtocolError } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';

/** How much a user may ask for: a burst, and a steady rate. */
export interface RateLimit {
  burst: number;
  perMinute: number;
}

/** The default for requests that make the agent work. */
export const DEFAULT_RATE_LIMIT: RateLimit = { burst: 60, perMinute: 120 };

/** The default for requests that read, rename or remove, and for handshakes. */
export const DEFAULT_READ_LIMIT: RateLimit = { burst: 300, perMinute: 600 };

/** The default for new sessions. */
export const DEFAULT_NEW_SESSIONS: RateLimit = { burst: 120, perMinute: 60 };

/** The error for something that is wanted too often. */
export function rateLimited(what: string, waitMs: number): ProtocolError {
  const message = `${what}. Try again in ${Math.ceil(waitMs / 1000)} s.`;
  return new ProtocolError('rate_limited', message, { retryAfterMs: waitMs });
}

/** Takes tokens of a user that all nodes share, or gives some back; resolves with how many are left. */
export type SharedBucket = (user: string, count: number) => Promise<number>;

interface Bucket {
  tokens: number;
  at: number;
  /** What was taken and the other nodes may not know of yet. */
  untold: number;
}

/**
 * A bucket of tokens for each user; users who have been quiet long enough are forgotten. Where nodes share the tokens, each counts by itself at once and is told
 * what is left in all: nothing waits for that, and while it cannot be told each counts alone.
 */
export class RateLimiter {
  private readonly limit: RateLimit;
  private readonly clock: Clock;
  private readonly shared: SharedBucket | null;
  private readonly buckets = new Map<string, Bucket>();

  constructor(limit: RateLimit, clock: Clock, shared: SharedBucket | null = null) {
    this.limit = limit;
    this.clock = clock;
    this.shared = shared;
  }

  /** Takes a token, or several: 0 when they were there, else the milliseconds until they are. */
  take(user: string, count = 1): number {
    const now = this.clock.elapsed();
    const perMs = this.limit.perMinute / 60_000;
    let bucket = this.buckets.get(user);
    if (!bucket) {
      if (this.buckets.size >= 10_000) this.forgetQuiet(now);
      bucket = { tokens: this.limit.burst, at: now, untold: 0 };
      this.buckets.set(user, bucket);
    }
    const filled = Math.min(this.limit.burst, bucket.tokens + (now - bucket.at) * perMs);
    const isThere = filled >= count;
    bucket.tokens = isThere ? filled - count : filled;
    bucket.at = now;
    if (isThere) this.tell(user, count, bucket);
    return isThere ? 0 : Math.ceil((count - filled) / perMs);
  }

  /** Another node answers, and counts: what was taken for it here is given back, where both count together. */
  giveBack(user: string): void {
    const bucket = this.buckets.get(user);
    if (!bucket || !this.shared) return;
    bucket.tokens += 1;
    this.tell(user, -1, bucket);
  }

  private tell(user: string, count: number, bucket: Bucket): void {
    if (!this.shared) return;
    bucket.untold += count;
    const told = () => {
      bucket.untold -= count;
    };
    this.shared(user, count).then((left) => {
      told();
      bucket.tokens = left - bucket.untold;
      bucket.at = this.clock.elapsed();
    }, told);
  }

  private forgetQuiet(now: number): void {
    const full = (this.limit.burst / this.limit.perMinute) * 60_000;
    for (const [user, { at }] of this.buckets) if (now - at > full) this.buckets.delete(user);
  }
}
