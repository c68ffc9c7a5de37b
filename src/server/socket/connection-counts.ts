import { ProtocolError } from '../../protocol/index.ts';

/** The retry delay in the error for a user with too many connections. */
const CROWDED_MS = 10_000;

/** Counts the sockets of each user, in this process and, with a hub, at all nodes together, and limits both numbers. */
export class ConnectionCounts {
  private readonly counts = new Map<string, number>();
  private readonly most: number;
  /** Reports to the hub how many connections a user has in this process; resolves with the number at all nodes. Null without a hub. */
  private readonly report: ((user: string, count: number) => Promise<number>) | null;

  constructor(most: number, report: ((user: string, count: number) => Promise<number>) | null) {
    this.most = most;
    this.report = report;
  }

  /** Throws when a user already has as many connections in this process as the limit allows. */
  checkRoom(user: string): void {
    const count = this.counts.get(user) ?? 0;
    if (count >= this.most) throw crowded(count);
  }

  /** Counts a new connection of a user; throws like `checkRoom`. The returned function removes the connection from the count, once. */
  countIn(user: string): () => void {
    this.checkRoom(user);
    this.counts.set(user, (this.counts.get(user) ?? 0) + 1);
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      const rest = (this.counts.get(user) ?? 1) - 1;
      if (rest > 0) this.counts.set(user, rest);
      else this.counts.delete(user);
      this.reportCount(user);
    };
  }

  /** Rejects when a user has too many connections at all nodes together. Resolves without that check while the hub is unavailable. */
  async checkEverywhere(user: string): Promise<void> {
    const all = await this.reportCount(user);
    if (all !== null && all > this.most) throw crowded(all - 1);
  }

  private async reportCount(user: string): Promise<number | null> {
    return this.report ? this.report(user, this.counts.get(user) ?? 0).catch(() => null) : null;
  }
}

function crowded(count: number): ProtocolError {
  return new ProtocolError('rate_limited', `You have ${count} connections. Close one, then try again.`, {
    retryAfterMs: CROWDED_MS,
  });
}
