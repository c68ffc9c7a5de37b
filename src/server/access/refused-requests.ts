import { ProtocolError } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { type RateLimit, type RateLimiter, rateLimited } from './rate-limit.ts';

/** How many wrong keys an address may show before further ones are `rate_limited`. */
export const WRONG_KEYS: RateLimit = { burst: 20, perMinute: 20 };

/** How long equal log lines of one address are counted before their number is logged. */
const WINDOW_MS = 60_000;
/** How many kinds of lines, each with its address, are counted at a time; beyond that all addresses count together. */
const MAX_KINDS = 1000;

/** Limits wrong keys by address, and keeps refused requests from filling the log. */
export class RefusedRequests {
  private readonly limiter: RateLimiter | null;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly counts = new Map<string, { count: number }>();

  constructor(limiter: RateLimiter | null, clock: Clock, logger: Logger) {
    this.limiter = limiter;
    this.clock = clock;
    this.logger = logger;
  }

  /** The error for a key that was found wrong: `unauthorized`, or `rate_limited` when the address has shown too many. */
  wrongKey(address: string, message: string): ProtocolError {
    const wait = this.limiter?.take(address) ?? 0;
    if (wait === 0) return new ProtocolError('unauthorized', message);
    this.log(address, 'an address shows too many wrong keys', { code: 'rate_limited' });
    return rateLimited('Too many wrong keys', wait);
  }

  /** Writes a line about a refused request. More lines like it, with the same code and address, are counted, and one line a minute later has their number. */
  log(address: string, message: string, fields: Record<string, unknown> & { code: string }): void {
    const { code } = fields;
    const isRoomLeft = this.counts.size < MAX_KINDS;
    const kind = JSON.stringify([message, code, isRoomLeft ? address : null]);
    const known = this.counts.get(JSON.stringify([message, code, address])) ?? this.counts.get(kind);
    if (known) {
      known.count++;
      return;
    }
    const counted = { count: 0 };
    this.counts.set(kind, counted);
    this.logger.warn(message, { ...fields, address });
    this.clock.after(WINDOW_MS, () => {
      this.counts.delete(kind);
      const { count } = counted;
      if (count > 0) this.logger.warn(`${message}, and more like it`, { code, count, address });
    });
  }
}
