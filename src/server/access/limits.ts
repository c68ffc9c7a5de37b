import { getHeapStatistics } from 'node:v8';
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

/** Lets what one user asks for follow one after the other, so that what others ask for comes in between. */
export class Turnstile {
  private readonly tails = new Map<string, Promise<void>>();

  /** Does the work when everything that the user asked for before is done. */
  pass<T>(user: string, work: () => T | Promise<T>): Promise<T> {
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

/** Lets the event loop see what else came in. */
function nextRound(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** How much of what clients send may be in memory before it is read. */
export interface BudgetLimits {
  /** Bytes of bodies and frames of one user. */
  userBytes: number;
  /** Bytes of bodies and frames of all users. */
  serverBytes: number;
  /** How long a body or a frame may take to arrive. */
  arrivalMs: number;
}

const MB = 1024 * 1024;
/** What a body says is in the heap several times for a moment: as text, as values, as an event, as what is stored. */
const HEAP_SHARE = 1 / 16;

/** A part of what is free in the heap when the server is made, at most so many bytes. */
export function shareOfHeap(atMost: number): number {
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
  return Math.min(atMost, Math.floor((limit - used) * HEAP_SHARE));
}

/** The limits of a server that was not told others. */
export function defaultBudget(serverBytes: number = shareOfHeap(256 * MB)): BudgetLimits {
  return { serverBytes, userBytes: Math.min(64 * MB, serverBytes), arrivalMs: 120_000 };
}

/** Counts the bytes of bodies and frames, unfinished ones too, from their arrival until they are taken or refused. */
export class ByteBudget {
  readonly limits: BudgetLimits;
  private readonly users = new Map<string, number>();
  private total = 0;

  constructor(limits: BudgetLimits) {
    this.limits = limits;
  }

  /** The bytes that are held now. */
  get held(): number {
    return this.total;
  }

  /** An account for something that arrives from a user. Whoever opens it empties it. */
  open(user: string): HeldBytes {
    return new HeldBytes((change) => this.move(user, change));
  }

  private move(user: string, change: number): void {
    const own = (this.users.get(user) ?? 0) + change;
    const isMore = change > 0;
    if (isMore && (own > this.limits.userBytes || this.total + change > this.limits.serverBytes)) {
      throw new ProtocolError(
        'overloaded',
        'The server has too much to take in at the moment. Try again in a few seconds.',
        { retryAfterMs: 5000 },
      );
    }
    this.total += change;
    if (own > 0) this.users.set(user, own);
    else this.users.delete(user);
  }
}

/** The bytes that one body, or one connection, holds. */
export class HeldBytes {
  private readonly move: (change: number) => void;
  private bytes = 0;

  constructor(move: (change: number) => void) {
    this.move = move;
  }

  /** Changes how many are held. Throws `overloaded`, and changes nothing, when there is no room for more. */
  set(bytes: number): void {
    this.move(bytes - this.bytes);
    this.bytes = bytes;
  }

  add(bytes: number): void {
    this.set(this.bytes + bytes);
  }
}
