import { randomUUID } from 'node:crypto';
import type { SessionKey } from '../store/keys.ts';
import type { ClaimedEvents, OutboxEvent, OutboxStore } from '../store/outbox.ts';
import { fromText, toText } from '../store/rules.ts';
import type { Database } from './database.ts';

/**
 * The tables of the events that wait for their delivery. A queue has the key of its session instead of the session's number, because the queue outlives the
 * session.
 */
export function outboxTables(db: Database) {
  const ofSubscription = 'app = ? and subscription = ?';
  const addQueue = db.prepare(
    `insert into outbox_queues (app, subscription, user, session_id, due) values (?, ?, ?, ?, ?) on conflict do nothing`,
  );
  const find = db.prepare<{ n: number }>(
    `select n from outbox_queues where ${ofSubscription} and user = ? and session_id = ?`,
  );
  const add = db.prepare(
    'insert into outbox (queue, id, at, data) values (?, ?, ?, ?) on conflict do nothing',
  );
  const due = db.prepare<{ n: number; attempts: number }>(
    `select n, attempts from outbox_queues where ${ofSubscription} and due <= ?
       and exists (select 1 from outbox where queue = outbox_queues.n)
     order by due, n limit ?`,
  );
  const claim = db.prepare(
    'update outbox_queues set claim = ?, due = ?, attempts = attempts + 1 where n = ?',
  );
  const events = db.prepare<{ id: string; data: string }>(
    'select id, data from outbox where queue = ? order by n limit ?',
  );
  const keep = db.prepare('update outbox_queues set due = ? where n = ? and claim = ?');
  const remove = db.prepare('delete from outbox where queue = ? and id = ?');
  const restart = db.prepare('update outbox_queues set attempts = 0 where n = ?');
  const end = db.prepare('update outbox_queues set claim = null, due = ? where n = ? and claim = ?');
  const removeEmpty = db.prepare(
    'delete from outbox_queues where claim is null and not exists (select 1 from outbox where queue = outbox_queues.n)',
  );
  const all = `select outbox.n, outbox.at from outbox join outbox_queues q on q.n = outbox.queue where ${ofSubscription}`;
  const trim = db.prepare(
    `delete from outbox where n in (
       select n from (${all}) where at < ? or n <= coalesce((select n from (${all}) order by n desc limit 1 offset ?), 0)
     )`,
  );
  const release = db.prepare('update outbox_queues set claim = null, due = 0 where claim is not null');

  return {
    add({ app, user, id: session }: SessionKey, list: readonly OutboxEvent[], at: number): void {
      for (const { subscription, id, data } of list) {
        const queue = [toText(app), toText(subscription), toText(user), toText(session)] as const;
        addQueue.run(...queue, at);
        add.run(find.first(...queue)?.n ?? 0, toText(id), at, data);
      }
    },
    claim(
      app: string,
      subscription: string,
      { leaseMs, ...limits }: Parameters<OutboxStore['claimEvents']>[2],
      now: number,
    ): ClaimedEvents[] {
      return due.all(toText(app), toText(subscription), now, limits.queues).map(({ n, attempts }) => {
        const name = randomUUID();
        claim.run(name, now + leaseMs, n);
        const found = events.all(n, limits.events).map(({ id, data }) => ({ id: fromText(id), data }));
        return { claim: name, queue: n, attempts: attempts + 1, events: found };
      });
    },
    keep({ queue, claim }: ClaimedEvents, due: number, delivered: string | undefined): boolean {
      if (keep.run(due, queue, claim) === 0) return false;
      if (delivered === undefined) return true;
      remove.run(queue, toText(delivered));
      restart.run(queue);
      return true;
    },
    end({ queue, claim }: ClaimedEvents, due: number): void {
      end.run(due, queue, claim);
      removeEmpty.run();
    },
    trim(app: string, subscription: string, { before, count }: { before: number; count: number }): number {
      const of = [toText(app), toText(subscription)] as const;
      const removed = trim.run(...of, before, ...of, count);
      removeEmpty.run();
      return removed;
    },
    /** Ends the claims of an earlier process. Only one process at a time uses the file, so no claim can be in use. */
    release(): void {
      release.run();
    },
  };
}

/** The transactions of the store. */
interface Transactions {
  write<T>(work: (tables: { outbox: ReturnType<typeof outboxTables> }) => T): T;
}

/** The outbox of a SQLite store. */
export function sqliteOutbox(transactions: Transactions, now: () => number): OutboxStore {
  return {
    async keepEvents(key, events) {
      transactions.write(({ outbox }) => outbox.add(key, events, now()));
    },
    async claimEvents(app, subscription, request) {
      return transactions.write(({ outbox }) => outbox.claim(app, subscription, request, now()));
    },
    async keepClaim(claimed, leaseMs, delivered) {
      return transactions.write(({ outbox }) => outbox.keep(claimed, now() + leaseMs, delivered));
    },
    async endClaim(claimed, retryMs = 0) {
      transactions.write(({ outbox }) => outbox.end(claimed, now() + retryMs));
    },
    async trimEvents(app, subscription, limits) {
      return transactions.write(({ outbox }) => outbox.trim(app, subscription, limits));
    },
  };
}
