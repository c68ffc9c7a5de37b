import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type OwnedKey, type SharedStore, StaleFence } from '../../src/server/store/store.ts';
import { keyOf, messageOf } from '../../src/testing/store/setup.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();
const key = keyOf('s1');
const a = { name: 'a', address: 'http://127.0.0.1:1' };
const b = { name: 'b', address: 'http://127.0.0.1:2' };
const LONG = 60_000;
let store: SharedStore;

beforeAll(async () => {
  store = await schema.open();
});
afterAll(() => store.close());
beforeEach(async () => {
  await schema.empty();
  await store.createSession(key, {});
});

async function take(node: string, suspect: number | null = null): Promise<OwnedKey> {
  const found = await store.nodes.acquire(key, node, suspect);
  if (found?.kind !== 'mine') throw new Error(`${node} did not get the session.`);
  return found.key;
}

/** The lease of a node ends. */
const lapse = (name: string) =>
  schema.sql(
    `update ${schema.name}.nodes set until = clock_timestamp() - interval '1 ms' where name = '${name}'`,
  );

test('a session belongs to the node that asks first, for as long as that lives', async () => {
  expect(await store.nodes.renew(a, LONG)).toBe(false);
  expect(await store.nodes.renew(a, LONG)).toBe(true);
  await store.nodes.renew(b, LONG);
  const owner = await take('a');
  expect(await store.nodes.acquire(key, 'b', null)).toEqual({
    kind: 'elsewhere',
    node: a,
    fence: owner.fence,
  });
  await store.putMessage(owner, messageOf('m1', 'mine'));

  await lapse('a');
  const next = await take('b');
  expect(next.fence).toBeGreaterThan(owner.fence);
  await expect(store.putMessage(owner, messageOf('m2', 'late'))).rejects.toThrow(StaleFence);
  expect(await store.nodes.renew(a, LONG)).toBe(false);
  expect(await store.nodes.acquire(key, 'a', null)).toMatchObject({ kind: 'elsewhere', node: b });
  expect(await store.nodes.stillOwned([owner, next])).toEqual([next]);
});

test('what sessions share is read for the owner alone, with what others changed', async () => {
  await store.nodes.renew(a, LONG);
  const owner = await take('a');
  expect(await store.sharedState(owner)).toEqual({});
  const other = keyOf('s2');
  await store.createSession(other, { 'user:name': 'Ann', 'app:open': true, own: 1 });
  expect(await store.sharedState(owner)).toEqual({ 'user:name': 'Ann', 'app:open': true });
  const next = await take('b', owner.fence);
  expect(await store.sharedState(owner)).toBeNull();
  expect(await store.sharedState(next)).toEqual({ 'user:name': 'Ann', 'app:open': true });
  await store.deleteSession(key);
  expect(await store.sharedState(next)).toBeNull();
});

test('a node that came back in time, or whose sessions nobody wanted, keeps them', async () => {
  await store.nodes.renew(a, LONG);
  const owner = await take('a');
  await lapse('a');
  await store.putMessage(owner, messageOf('m1', 'nobody took it'));
  await store.nodes.renew(a, LONG);
  expect(await store.nodes.stillOwned([owner])).toEqual([owner]);
  await store.nodes.renew(b, LONG);
  expect(await store.nodes.acquire(key, 'b', null)).toMatchObject({ kind: 'elsewhere' });
});

test('of many who take over a dead owner one does', async () => {
  await store.nodes.renew(a, LONG);
  const { fence } = await take('a');
  const names = Array.from({ length: 12 }, (_, index) => `n${index}`);
  for (const name of names) await store.nodes.renew({ name, address: `http://${name}` }, LONG);
  const found = await Promise.all(names.map((name) => store.nodes.acquire(key, name, fence)));
  const winners = names.filter((_, index) => found[index]?.kind === 'mine');
  expect(winners).toHaveLength(1);
  for (const one of found) {
    if (one?.kind === 'elsewhere') expect(one.node.name).toBe(winners[0]);
  }
});

test('what is let go of is anyone’s: one session, or all of a node', async () => {
  await store.nodes.renew(a, LONG);
  await store.nodes.renew(b, LONG);
  const first = await take('a');
  await store.nodes.release(first);
  const second = await take('b');
  // Too late: it has another owner.
  await store.nodes.release(first);
  expect(await store.nodes.acquire(key, 'a', null)).toMatchObject({ kind: 'elsewhere', node: b });
  await store.nodes.leave('b');
  await take('a');
  await expect(store.putMessage(second, messageOf('m1', 'late'))).rejects.toThrow(StaleFence);
  expect((await store.nodes.living()).nodes).toEqual([a]);
  await store.nodes.leave('a');
  const [{ now } = { now: 0 }] = await schema.sql(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
  );
  const living = await store.nodes.living();
  expect(living.nodes).toEqual([]);
  expect(living.now).toBeGreaterThanOrEqual(Number(now));
});

test('a session that is not there is nobody’s', async () => {
  await store.nodes.renew(a, LONG);
  expect(await store.nodes.acquire(keyOf('s2'), 'a', null)).toBeNull();
});

test('a session that a node creates belongs to it from the start, and knows what sessions share', async () => {
  const created = keyOf('s2');
  await store.createSession(keyOf('s3'), { 'user:name': 'Ann', 'app:open': true, own: 1 });
  await store.nodes.renew(a, LONG);
  const { key: owner, session } = await store.nodes.create(created, 'a');
  expect(session).toEqual(await store.loadSession(created));
  expect(session.state).toEqual({ 'user:name': 'Ann', 'app:open': true });
  expect(await store.nodes.acquire(created, 'b', null)).toEqual({
    kind: 'elsewhere',
    node: a,
    fence: owner.fence,
  });
  await store.putMessage(owner, messageOf('m1', 'mine'));
  await expect(store.nodes.create(created, 'a')).rejects.toThrow('The session s2 exists already.');
  const again = await store.nodes.acquire(created, 'a', null);
  expect(again?.kind === 'mine' && again.key.fence).toBeGreaterThan(owner.fence);
  await expect(store.putMessage(owner, messageOf('m2', 'late'))).rejects.toThrow(StaleFence);
});

test('of many nodes that create a session one does', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `n${index}`);
  const created = await Promise.allSettled(names.map((name) => store.nodes.create(keyOf('s2'), name)));
  expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});
