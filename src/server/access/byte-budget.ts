import { getHeapStatistics } from 'node:v8';
import { ProtocolError } from '../../protocol/index.ts';

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
