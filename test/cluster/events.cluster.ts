import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { keyOf } from '../../src/testing/store/setup.ts';
import { deadNodeSuite, eventNodesSuite } from '../server/support/event-nodes.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

describe('a subscription of two nodes that share PostgreSQL', () => {
  eventNodesSuite((now) => schema.open(now));
  deadNodeSuite((now) => schema.open(now));
});

it('a claim gets no event that another node delivered while the claim was being made', async () => {
  const now = () => 1_700_000_000_000;
  const one = await schema.open(now);
  const other = await schema.open(now);
  await schema.empty();
  const keep = (session: string, id: string) =>
    one.keepEvents(keyOf(session), [{ subscription: 'billing', id, data: '{}' }]);
  await keep('a', 'a1');
  await keep('b', 'b1');
  const [first] = await schema.sql(`select min(n) as n from ${schema.name}.outbox_queues`);
  const key = Number(first?.n);
  // The claim locks one queue after the other. It waits after the first one, as on a busy database.
  await schema.sql(`
    alter function ${schema.name}.claim_events set enable_hashjoin = off;
    alter function ${schema.name}.claim_events set enable_mergejoin = off;
    create function ${schema.name}.pause() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(1700, ${key});
      return new;
    end $$;
    create trigger pause before update on ${schema.name}.outbox_queues for each row
      when (old.n = ${key}) execute function ${schema.name}.pause();
    select pg_advisory_lock(1700, ${key})`);
  const request = { leaseMs: 30_000, queues: 2, events: 9 };
  const claiming = one.claimEvents('shop', 'billing', request);
  const waiting = `select from pg_locks where locktype = 'advisory' and (classid, objid) = (1700, ${key}) and not granted`;
  while ((await schema.sql(waiting)).length === 0) await setImmediate();
  const [claimed] = await other.claimEvents('shop', 'billing', request);
  expect(claimed?.events.map(({ id }) => id)).toEqual(['b1']);
  await keep('b', 'b2');
  if (claimed) await other.keepClaim(claimed, 30_000, 'b1');
  if (claimed) await other.endClaim(claimed);
  await schema.sql(`select pg_advisory_unlock(1700, ${key})`);
  const events = (await claiming).map((queue) => queue.events.map(({ id }) => id));
  expect(events).toEqual([['a1'], ['b2']]);
  await one.close();
  await other.close();
});
