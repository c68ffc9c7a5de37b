import { ProtocolError } from '../protocol/index.ts';
import type { Clock } from './clock.ts';

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

/** A bucket of tokens for each user; users who have been quiet long enough are forgotten. */
export class RateLimiter {
  private readonly limit: RateLimit;
  private readonly clock: Clock;
  private readonly buckets = new Map<string, { tokens: number; at: number }>();

  constructor(limit: RateLimit, clock: Clock) {
    this.limit = limit;
    this.clock = clock;
  }

  /** Takes a token, or several: 0 when they were there, else the milliseconds until they are. */
  take(user: string, count = 1): number {
    const now = this.clock.elapsed();
    const perMs = this.limit.perMinute / 60_000;
    let bucket = this.buckets.get(user);
    if (!bucket) {
      if (this.buckets.size >= 10_000) this.forgetQuiet(now);
      bucket = { tokens: this.limit.burst, at: now };
      this.buckets.set(user, bucket);
    }
    const filled = Math.min(this.limit.burst, bucket.tokens + (now - bucket.at) * perMs);
    const isThere = filled >= count;
    bucket.tokens = isThere ? filled - count : filled;
    bucket.at = now;
    return isThere ? 0 : Math.ceil((count - filled) / perMs);
  }

  private forgetQuiet(now: number): void {
    const full = (this.limit.burst / this.limit.perMinute) * 60_000;
    for (const [user, { at }] of this.buckets) if (now - at > full) this.buckets.delete(user);
  }
}
