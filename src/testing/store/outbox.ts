import type { Store } from '../../server/store/store.ts';
import {
  answerEvent,
  callOf,
  keyOf,
  lineOf,
  messageOf,
  type Opened,
  stored,
  type TestRunner,
} from './setup.ts';

const key = keyOf('s1');
const ONE = { leaseMs: 100, queues: 10, events: 10 };

/** An event for a subscription; for `billing` unless given. */
function eventOf(id: string, subscription = 'billing') {
  return { subscription, id, data: JSON.stringify({ id, text: 'a\0 \ud800' }) };
}

/** Returns the ids of the events of a subscription that are due. It claims the events, and ends the claims at once. */
async function waiting(store: Store, subscription = 'billing', app = 'shop'): Promise<unknown[]> {
  const claimed = await store.claimEvents(app, subscription, ONE);
  for (const one of claimed) await store.endClaim(one);
  return claimed.flatMap(({ events }) => events.map(({ id }) => id));
}

/** The tests of events that wait for their delivery to a subscription. */
export function outboxSuite({ test, expect }: TestRunner, { store, clock }: Opened): void {
  test('a write adds its events, for each subscription, in order', async () => {
    await store().createSession(key, {}, [eventOf('1'), eventOf('1', 'crm')]);
    await store().issueCalls(key, [callOf('c1'), callOf('c2')]);
    const approved = { id: 'c1', to: 'approved' as const, reason: null };
    await store().decideCall(key, approved, lineOf('approved', 'c1'), undefined, [eventOf('2')]);
    const move = { id: 'c1', from: 'approved' as const, to: 'running' as const };
    await store().moveCall(key, move, null, undefined, [eventOf('3')]);
    await store().appendEvent(key, answerEvent('e1', ['c1']), undefined, undefined, [eventOf('4')]);
    await store().putMessage(key, messageOf('m1', 'hi'), undefined, [eventOf('5'), eventOf('6')]);
    await store().keepEvents(key, [eventOf('7')]);
    await store().deleteSession(key, [eventOf('8')]);
    expect(await waiting(store())).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
    expect(await waiting(store(), 'crm')).toEqual(['1']);
    expect(await waiting(store(), 'billing', 'other')).toEqual([]);
  });

  test('a write that does not happen adds no event', async () => {
    await store().createSession(key, {});
    const session = await store().own(key);
    await expect(store().createSession(key, {}, [eventOf('1')])).rejects.toThrow(Error);
    await expect(store().putMessage(key, messageOf('m1', 'hi'), undefined, [eventOf('2')])).rejects.toThrow(
      Error,
    );
    const move = { id: 'c1', from: 'approved' as const, to: 'running' as const };
    expect(session && (await store().moveCall(session, move, null, undefined, [eventOf('3')]))).toBeNull();
    const seen = { 'user:a': 'old' };
    const answer = answerEvent('e1', ['c1'], { 'user:a': 1 });
    await expect(
      store().appendEvent(session ?? key, answer, seen, undefined, [eventOf('4')]),
    ).rejects.toThrow(Error);
    expect(await store().deleteSession(keyOf('s2'), [eventOf('5')])).toBe(false);
    expect(await waiting(store())).toEqual([]);
  });

  test('a claimed event has its data, and no other claim gets the events of its session until the claim ends', async () => {
    await store().keepEvents(key, [eventOf('1'), eventOf('2')]);
    await store().keepEvents(keyOf('s2'), [eventOf('3')]);
    const [first, second, ...more] = await store().claimEvents('shop', 'billing', { ...ONE, events: 1 });
    expect([first?.events, second?.events, more]).toEqual([
      stored([{ id: '1', data: eventOf('1').data }]),
      stored([{ id: '3', data: eventOf('3').data }]),
      [],
    ]);
    await store().keepEvents(key, [eventOf('4')]);
    expect(await waiting(store())).toEqual([]);
    if (first) await store().endClaim(first);
    expect(await waiting(store())).toEqual(['1', '2', '4']);
  });

  test('a claim that is not renewed ends, and its later calls have no effect', async () => {
    await store().keepEvents(key, [eventOf('1'), eventOf('2')]);
    const [claimed] = await store().claimEvents('shop', 'billing', ONE);
    if (!claimed) throw new Error('There is no event.');
    clock.set(1_099);
    expect(await store().keepClaim(claimed, 100)).toBe(true);
    clock.set(1_198);
    expect(await waiting(store())).toEqual([]);
    clock.set(1_199);
    const [next] = await store().claimEvents('shop', 'billing', ONE);
    expect(next?.events).toEqual(claimed.events);
    expect([claimed.attempts, next?.attempts]).toEqual([1, 2]);
    expect(await store().keepClaim(claimed, 100, '1')).toBe(false);
    await store().endClaim(claimed);
    expect(await waiting(store())).toEqual([]);
  });

  test('a delivered event is removed, and the attempts of the next event start at one', async () => {
    await store().keepEvents(key, [eventOf('1'), eventOf('2')]);
    const [claimed] = await store().claimEvents('shop', 'billing', ONE);
    if (!claimed) throw new Error('There is no event.');
    expect(await store().keepClaim(claimed, 100, '1')).toBe(true);
    await store().endClaim(claimed);
    const [next] = await store().claimEvents('shop', 'billing', ONE);
    expect([next?.attempts, next?.events.map(({ id }) => id)]).toEqual([1, ['2']]);
    if (next) await store().keepClaim(next, 100, '2');
    if (next) await store().endClaim(next);
    expect(await waiting(store())).toEqual([]);
    await store().keepEvents(key, [eventOf('3')]);
    expect(await waiting(store())).toEqual(['3']);
  });

  test('events wait for the time that a failed delivery names, and count their attempts', async () => {
    await store().keepEvents(key, [eventOf('1')]);
    for (const attempts of [1, 2, 3]) {
      const [claimed] = await store().claimEvents('shop', 'billing', ONE);
      expect(claimed?.attempts).toBe(attempts);
      if (claimed) await store().endClaim(claimed, 50);
      clock.set(clock.now() + 49);
      expect(await store().claimEvents('shop', 'billing', ONE)).toEqual([]);
      clock.set(clock.now() + 1);
    }
  });

  test('an event that is added twice is delivered once', async () => {
    await store().keepEvents(key, [eventOf('1'), eventOf('1')]);
    await store().keepEvents(key, [eventOf('1'), eventOf('2')]);
    expect(await waiting(store())).toEqual(['1', '2']);
  });

  test('a claim gets at most the wanted number of sessions, those that are due longest first', async () => {
    for (const id of ['s1', 's2', 's3']) {
      await store().keepEvents(keyOf(id), [eventOf(id)]);
      clock.set(clock.now() + 1);
    }
    const claims = await store().claimEvents('shop', 'billing', { ...ONE, queues: 2 });
    expect(claims.flatMap(({ events }) => events.map(({ id }) => id))).toEqual(['s1', 's2']);
    expect(await waiting(store())).toEqual(['s3']);
  });

  test('trimming removes old events, and all but the newest ones', async () => {
    for (const id of ['1', '2', '3', '4']) {
      await store().keepEvents(keyOf(id === '2' ? 's2' : 's1'), [eventOf(id), eventOf(id, 'crm')]);
      clock.set(clock.now() + 10);
    }
    expect(await store().trimEvents('shop', 'billing', { before: 1_000, count: 4 })).toBe(0);
    expect(await store().trimEvents('shop', 'billing', { before: 1_010, count: 2 })).toBe(2);
    expect(await waiting(store())).toEqual(['3', '4']);
    expect((await waiting(store(), 'crm')).length).toBe(4);
    expect(await store().trimEvents('shop', 'billing', { before: 2_000, count: 2 })).toBe(2);
    expect(await waiting(store())).toEqual([]);
  });
}
