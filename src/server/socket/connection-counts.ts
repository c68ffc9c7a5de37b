import { ProtocolError } from '../../protocol/index.ts';

/** The retry delay in the error for a user with too many connections. */
const CROWDED_MS = 10_000;

/** Counts the sockets of each user, here and at all nodes together. */
export class ConnectionCounts {
  private readonly counts = new Map<string, number>();
  private readonly most: number;
  /** Reports how many connections a user has here; resolves with the number at all nodes. */
  private readonly report: ((user: string, count: number) => Promise<number>) | null;

  constructor(most: number, report: ((user: string, count: number) => Promise<number>) | null) {
    this.most = most;
    this.report = report;
  }

  /** Throws when a user has as many connections as the limit allows. */
  checkRoom(user: string): void {
    const count = this.counts.get(user) ?? 0;
    if (count >= this.most) throw crowded(count);
  }

  /** Counts a connection of a user; the returned function removes it from the count, and does nothing when it is called again. */
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

  /** Rejects when a user has too many connections at all nodes together. While the hub is unavailable, each node counts alone. */
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
