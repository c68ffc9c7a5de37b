import { randomUUID } from 'node:crypto';
import type { SessionKey } from '../keys.ts';
import type { ClaimedEvents, OutboxEvent, OutboxStore } from '../outbox.ts';

/** The events of one session for one subscription. */
interface Queue {
  n: number;
  due: number;
  attempts: number;
  claim: string | null;
  events: { n: number; id: string; data: string; at: number }[];
}

/** The events that wait for their delivery, in memory. */
export class HeldOutbox implements OutboxStore {
  readonly #now: () => number;
  /** The queues of each subscription (`nameOf`), by the user and id of their session as JSON. */
  readonly #subscriptions = new Map<string, Map<string, Queue>>();
  #last = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Adds events. It cannot fail while the store is open, so a write may call it after it has changed other data. */
  add(key: SessionKey, events: readonly OutboxEvent[]): void {
    for (const { subscription, id, data } of events) {
      const name = nameOf(key.app, subscription);
      const queues = this.#subscriptions.get(name) ?? new Map<string, Queue>();
      this.#subscriptions.set(name, queues);
      const session = JSON.stringify([key.user, key.id]);
      const at = this.#now();
      const queue = queues.get(session) ?? { n: ++this.#last, due: at, attempts: 0, claim: null, events: [] };
      queues.set(session, queue);
      if (!queue.events.some((event) => event.id === id))
        queue.events.push({ n: ++this.#last, id, data, at });
    }
  }

  async keepEvents(key: SessionKey, events: readonly OutboxEvent[]): Promise<void> {
    this.#now();
    this.add(key, events);
  }

  async claimEvents(
    app: string,
    subscription: string,
    { leaseMs, queues, events }: Parameters<OutboxStore['claimEvents']>[2],
  ): Promise<ClaimedEvents[]> {
    const now = this.#now();
    const due = this.#queuesOf(app, subscription)
      .filter((queue) => queue.due <= now && queue.events.length > 0)
      .sort((a, b) => a.due - b.due || a.n - b.n);
    return due.slice(0, queues).map((queue) => {
      const claim = randomUUID();
      Object.assign(queue, { claim, due: now + leaseMs, attempts: queue.attempts + 1 });
      const claimed = queue.events.slice(0, events).map(({ id, data }) => ({ id, data }));
      return { claim, queue: queue.n, attempts: queue.attempts, events: claimed };
    });
  }

  async keepClaim(claimed: ClaimedEvents, leaseMs: number, delivered?: string): Promise<boolean> {
    const now = this.#now();
    const queue = this.#find(claimed);
    if (!queue) return false;
    queue.due = now + leaseMs;
    if (delivered === undefined) return true;
    queue.events = queue.events.filter(({ id }) => id !== delivered);
    queue.attempts = 0;
    return true;
  }

  async endClaim(claimed: ClaimedEvents, retryMs = 0): Promise<void> {
    const now = this.#now();
    const queue = this.#find(claimed);
    if (!queue) return;
    queue.claim = null;
    queue.due = now + retryMs;
    this.#removeEmpty();
  }

  async trimEvents(
    app: string,
    subscription: string,
    { before, count }: { before: number; count: number },
  ): Promise<number> {
    this.#now();
    const queues = this.#queuesOf(app, subscription);
    const newest = queues.flatMap(({ events }) => events.map(({ n }) => n)).sort((a, b) => b - a);
    const last = newest[count] ?? 0;
    let removed = 0;
    for (const queue of queues) {
      const kept = queue.events.filter(({ n, at }) => at >= before && n > last);
      removed += queue.events.length - kept.length;
      queue.events = kept;
    }
    this.#removeEmpty();
    return removed;
  }

  #queuesOf(app: string, subscription: string): Queue[] {
    return [...(this.#subscriptions.get(nameOf(app, subscription))?.values() ?? [])];
  }

  #find({ queue, claim }: ClaimedEvents): Queue | undefined {
    for (const queues of this.#subscriptions.values()) {
      for (const one of queues.values()) if (one.n === queue && one.claim === claim) return one;
    }
    return undefined;
  }

  #removeEmpty(): void {
    for (const queues of this.#subscriptions.values()) {
      for (const [session, { events, claim }] of queues) {
        if (events.length === 0 && claim === null) queues.delete(session);
      }
    }
  }
}

function nameOf(app: string, subscription: string): string {
  return JSON.stringify([app, subscription]);
}
