import { randomUUID } from 'node:crypto';
import type { SessionKey } from '../store/keys.ts';
import type { ClaimedEvents, ClaimRequest, OutboxEvent, OutboxStore } from '../store/outbox.ts';
import { fromText, toText } from '../store/rules.ts';
import type { SchemaCalls } from './schema-calls.ts';
import { eventsIn, nameIn, subscriptionIn } from './values.ts';

interface ClaimedRow {
  queue: number;
  attempts: number;
  id: string;
  data: string;
}

/** The part of a PostgreSQL store that keeps events until they are delivered. */
export class PostgresOutbox implements OutboxStore {
  readonly #calls: SchemaCalls;
  readonly #now: () => number | null;

  constructor(calls: SchemaCalls, now: () => number | null) {
    this.#calls = calls;
    this.#now = now;
  }

  async keepEvents(key: SessionKey, events: readonly OutboxEvent[]): Promise<void> {
    await this.#calls.call(key, 'add_events', [nameIn(key), this.#now(), eventsIn(key, events)]);
  }

  async claimEvents(
    app: string,
    subscription: string,
    { leaseMs, queues, events }: ClaimRequest,
  ): Promise<ClaimedEvents[]> {
    const claim = randomUUID();
    const values = [subscriptionIn(app, subscription), claim, this.#now(), leaseMs, queues, events];
    const { rows } = await this.#calls.run<ClaimedRow>(null, 'claim_events', values);
    const claimed = new Map<number, ClaimedEvents>();
    for (const { queue, attempts, id, data } of rows) {
      const found = claimed.get(queue) ?? { claim, queue, attempts, events: [] };
      claimed.set(queue, found);
      found.events.push({ id: fromText(id), data: fromText(data) });
    }
    return [...claimed.values()];
  }

  async keepClaim({ queue, claim }: ClaimedEvents, leaseMs: number, delivered?: string): Promise<boolean> {
    const id = delivered === undefined ? null : toText(delivered);
    return this.#calls.value<boolean>(null, 'keep_claim', [queue, claim, this.#now(), leaseMs, id]);
  }

  async endClaim({ queue, claim }: ClaimedEvents, retryMs = 0): Promise<void> {
    await this.#calls.run(null, 'end_claim', [queue, claim, this.#now(), retryMs]);
  }

  async trimEvents(
    app: string,
    subscription: string,
    { before, count }: { before: number; count: number },
  ): Promise<number> {
    const values = [subscriptionIn(app, subscription), before, count];
    return this.#calls.value<number>(null, 'trim_events', values);
  }
}
