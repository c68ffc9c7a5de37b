import { getHeapStatistics } from 'node:v8';
import { ProtocolError } from '../../protocol/index.ts';
import { type Clock, nextRound } from '../clock.ts';

/** The number of token buckets at which a rate limiter deletes the full ones. */
const MAX_BUCKETS = 10_000;

/** How many requests a user may send: a burst, and a steady rate. */
export interface RateLimit {
  /** The largest number of requests at once, after a time without requests. */
  burst: number;
  /** The number of requests per minute that are allowed in the long run. */
  perMinute: number;
}

/** The default for requests that start work of the agent. */
export const DEFAULT_RATE_LIMIT: RateLimit = { burst: 60, perMinute: 120 };

/** The default for requests that read, rename or remove, and for handshakes. */
export const DEFAULT_READ_LIMIT: RateLimit = { burst: 300, perMinute: 600 };

/** The default for new sessions. */
export const DEFAULT_NEW_SESSIONS: RateLimit = { burst: 120, perMinute: 60 };

/** The error for a request over a limit; `what` is the beginning of its message. */
export function rateLimited(what: string, waitMs: number): ProtocolError {
  const seconds = Math.ceil(waitMs / 1000);
  const message = `${what}. Try again in ${seconds} s.`;
  return new ProtocolError('rate_limited', message, { retryAfterMs: waitMs });
}

/** A token bucket: it holds up to `burst` tokens, and gets new ones at a steady rate. */
export class TokenBucket {
  private readonly burst: number;
  private readonly perMs: number;
  private tokens: number;
  /** The time for which `tokens` is correct, in milliseconds of the clock. */
  private at: number;

  /** Creates a full bucket. */
  constructor(burst: number, perMs: number, now: number) {
    this.burst = burst;
    this.perMs = perMs;
    this.tokens = burst;
    this.at = now;
  }

  /** Takes `count` tokens and returns 0. When there are too few, takes none and returns the milliseconds until there are enough. */
  take(count: number, now: number): number {
    this.tokens = Math.min(this.burst, this.tokens + (now - this.at) * this.perMs);
    this.at = now;
    if (this.tokens < count) return Math.ceil((count - this.tokens) / this.perMs);
    this.tokens -= count;
    return 0;
  }

  giveBack(count: number): void {
    this.tokens += count;
  }

  /** Replaces the number of tokens, after the bucket that all nodes share has reported how many are left. */
  set(tokens: number, now: number): void {
    this.tokens = tokens;
    this.at = now;
  }

  /** Whether no token was taken for so long that the bucket is full again. */
  isFull(now: number): boolean {
    return now - this.at > this.burst / this.perMs;
  }
}

/** Takes tokens from a user's bucket that all nodes share; a negative count puts tokens back. Resolves with the number of tokens left. */
export type SharedBucket = (user: string, count: number) => Promise<number>;

/**
 * A token bucket for each user. When there are many buckets, the full ones are deleted. If the nodes share a bucket for each user, this node takes tokens from
 * its own copy at once, and corrects the copy when the shared bucket reports how many tokens are left. No request waits for the shared bucket. While the
 * shared bucket cannot be reached, each node uses its copy alone.
 */
export class RateLimiter {
  private readonly limit: RateLimit;
  private readonly clock: Clock;
  private readonly shared: SharedBucket | null;
  /** `unreported`: tokens that were taken from the copy, and that the shared bucket may not have counted yet. */
  private readonly users = new Map<string, { bucket: TokenBucket; unreported: number }>();

  constructor(limit: RateLimit, clock: Clock, shared: SharedBucket | null = null) {
    this.limit = limit;
    this.clock = clock;
    this.shared = shared;
  }

  /** Takes tokens of a user and returns 0. When there are too few, returns the milliseconds until there are enough. */
  take(user: string, count = 1): number {
    const now = this.clock.elapsed();
    let own = this.users.get(user);
    if (!own) {
      if (this.users.size >= MAX_BUCKETS) this.forgetFull(now);
      const { burst, perMinute } = this.limit;
      own = { bucket: new TokenBucket(burst, perMinute / 60_000, now), unreported: 0 };
      this.users.set(user, own);
    }
    const wait = own.bucket.take(count, now);
    if (wait === 0) this.report(user, count, own);
    return wait;
  }

  /** Puts back the token of a request that another node answers, because that node takes one too. Does nothing when the nodes share no buckets. */
  giveBack(user: string): void {
    const own = this.users.get(user);
    if (!own || !this.shared) return;
    own.bucket.giveBack(1);
    this.report(user, -1, own);
  }

  private report(user: string, count: number, own: { bucket: TokenBucket; unreported: number }): void {
    if (!this.shared) return;
    own.unreported += count;
    const reported = () => {
      own.unreported -= count;
    };
    this.shared(user, count).then((left) => {
      reported();
      own.bucket.set(left - own.unreported, this.clock.elapsed());
    }, reported);
  }

  private forgetFull(now: number): void {
    for (const [user, { bucket }] of this.users) if (bucket.isFull(now)) this.users.delete(user);
  }
}

/** Runs the reads of one user one after the other, so that reads of other users can run in between. */
export class UserQueue {
  private readonly tails = new Map<string, Promise<void>>();

  /** Runs the work after all earlier work of the user. The promise has the result of the work. */
  run<T>(user: string, work: () => T | Promise<T>): Promise<T> {
    const before = this.tails.get(user);
    const done = (before ? before.then(nextRound) : Promise.resolve()).then(work);
    const leave = () => {
      if (this.tails.get(user) === tail) this.tails.delete(user);
    };
    const tail: Promise<void> = done.then(leave, leave);
    this.tails.set(user, tail);
    return done;
  }
}

/** The limits for the bytes of bodies and frames that are in memory while they arrive and are handled. */
export interface BudgetLimits {
  /** Bytes of bodies and frames of one user. */
  userBytes: number;
  /** Bytes of bodies and frames of all users. */
  serverBytes: number;
  /** How long a body or a frame may take to arrive. */
  arrivalMs: number;
}

const MB = 1024 * 1024;
/**
 * The part of the free heap that one limit may take. It is small, because there are several such limits, and because the content of a body is in the heap
 * several times for a moment: as text, as values, as an event, as a record of the store.
 */
const HEAP_SHARE = 1 / 16;

/** A share, in bytes, of the heap that is free when the server is created; never more than `atMost`. */
export function shareOfHeap(atMost: number): number {
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
  return Math.min(atMost, Math.floor((limit - used) * HEAP_SHARE));
}

/** The limits of a server whose options set none. */
export function defaultBudget(serverBytes: number = shareOfHeap(256 * MB)): BudgetLimits {
  return { serverBytes, userBytes: Math.min(64 * MB, serverBytes), arrivalMs: 120_000 };
}

/** Counts the bytes of bodies and frames, unfinished ones too, from their arrival until the server has handled or refused them. */
export class ByteBudget {
  readonly limits: BudgetLimits;
  private readonly users = new Map<string, number>();
  private total = 0;

  constructor(limits: BudgetLimits) {
    this.limits = limits;
  }

  /** The bytes of all users that are counted now. */
  get held(): number {
    return this.total;
  }

  /** Creates a counter for the bytes of one body or connection of a user. The caller sets it to 0 at the end. */
  open(user: string): HeldBytes {
    return new HeldBytes((change) => this.move(user, change));
  }

  private move(user: string, change: number): void {
    const own = (this.users.get(user) ?? 0) + change;
    const isMore = change > 0;
    if (isMore && (own > this.limits.userBytes || this.total + change > this.limits.serverBytes)) {
      throw new ProtocolError(
        'overloaded',
        'The server is receiving too much data at the moment. Try again in a few seconds.',
        { retryAfterMs: 5000 },
      );
    }
    this.total += change;
    if (own > 0) this.users.set(user, own);
    else this.users.delete(user);
  }
}

/** Counts the bytes of one body or one connection. */
export class HeldBytes {
  private readonly move: (change: number) => void;
  private bytes = 0;

  constructor(move: (change: number) => void) {
    this.move = move;
  }

  /** Sets the number of bytes. Throws `overloaded`, and changes nothing, when they do not fit into the budget. */
  set(bytes: number): void {
    this.move(bytes - this.bytes);
    this.bytes = bytes;
  }

  add(bytes: number): void {
    this.set(this.bytes + bytes);
  }
}
