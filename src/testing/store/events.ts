import { StateConflict, StoreError } from '../../server/store/store.ts';
import {
  answerEvent,
  callOf,
  casesWith,
  everything,
  keyOf,
  messageOf,
  type Opened,
  stored,
  type TestRunner,
  textEvent,
} from './setup.ts';

const key = keyOf('s1');

/** The tests of events and of the state that they change. */
export function eventsSuite({ test, expect, beforeEach }: TestRunner, { store, clock }: Opened): void {
  const each = casesWith(test);

  beforeEach(() => store().createSession(key, { mood: 'calm', count: 1 }));

  test('events come back unchanged, in the order of arrival and not of their timestamps', async () => {
    const events = [3_000, 1_000, 1_000, 2_000].map((timestamp, index) => ({
      ...textEvent(`e${index}`, 'こんにちは 👋 \0 \ud800'),
      timestamp,
    }));
    for (const event of events) await store().appendEvent(key, event);
    expect((await store().loadSession(key))?.events).toEqual(stored(events));
  });

  test('the newest events of a long history are loaded, limited by number and by size, but at least one', async () => {
    const events = ['e1', 'e2', 'e3', 'e4'].map((id) => textEvent(id, 'é'.repeat(100)));
    for (const event of events) await store().appendEvent(key, event);
    const size = Buffer.byteLength(JSON.stringify(events[0]));
    const newest = async (count: number, bytes: number) => {
      const session = await store().loadSession(key, { events: count, bytes });
      return [session?.events, session?.hasOlder, session?.state];
    };
    const state = { mood: 'calm', count: 1 };
    expect(await newest(4, 1e6)).toEqual([stored(events), false, state]);
    expect(await newest(3, 1e6)).toEqual([stored(events.slice(1)), true, state]);
    expect(await newest(4, size * 2)).toEqual([stored(events.slice(2)), true, state]);
    expect(await newest(4, size * 2 - 1)).toEqual([stored(events.slice(3)), true, state]);
    expect(await newest(4, 0)).toEqual([stored(events.slice(3)), true, state]);
    expect(await store().loadSession(keyOf('s2'), { events: 1, bytes: 1 })).toBeNull();
    await store().createSession(keyOf('s2'), {});
    expect(await store().loadSession(keyOf('s2'), { events: 1, bytes: 1 })).toMatchObject({
      events: [],
      hasOlder: false,
    });
  });

  test('events are read from a position on, limited by number and by size, but at least one', async () => {
    const events = ['e1', 'e2', 'e3', 'e4'].map((id) => textEvent(id, 'é'.repeat(100)));
    for (const event of events) await store().appendEvent(key, event);
    const size = Buffer.byteLength(JSON.stringify(events[0]));
    const read = async (from: number, count: number, bytes: number) => {
      const page = await store().loadEvents(key, { from, events: count, bytes });
      return [page?.events.map(({ id }) => id), page?.count];
    };
    expect(await read(0, 10, 1e6)).toEqual([['e1', 'e2', 'e3', 'e4'], 4]);
    expect(await read(1, 2, 1e6)).toEqual([['e2', 'e3'], 4]);
    expect(await read(1, 3, size * 2)).toEqual([['e2', 'e3'], 4]);
    expect(await read(2, 3, 0)).toEqual([['e3'], 4]);
    expect(await read(4, 3, 1e6)).toEqual([[], 4]);
    expect(await store().loadEvents(keyOf('s2'), { from: 0, events: 1, bytes: 1 })).toBeNull();
  });

  test('an event with a known id replaces the earlier event in its place', async () => {
    await store().appendEvent(key, textEvent('e1', 'one'));
    await store().appendEvent(key, textEvent('e2', 'two'));
    await store().appendEvent(key, textEvent('e1', 'one again', { mood: 'glad' }));
    const session = await store().loadSession(key);
    expect(session?.events).toEqual(
      stored([textEvent('e1', 'one again', { mood: 'glad' }), textEvent('e2', 'two')]),
    );
    expect(session?.state).toEqual({ mood: 'glad', count: 1 });
  });

  test('one event id in two sessions is two events', async () => {
    await store().createSession(keyOf('s2'), {});
    await store().appendEvent(key, textEvent('e1', 'one'));
    await store().appendEvent(keyOf('s2'), textEvent('e1', 'two'));
    expect((await store().loadSession(key))?.events).toEqual(stored([textEvent('e1', 'one')]));
  });

  test('a state delta changes, adds, empties and removes keys', async () => {
    await store().appendEvent(key, textEvent('e1', 'hi', { mood: 'glad', extra: [1, { a: null }] }));
    await store().appendEvent(key, textEvent('e2', 'hi', { mood: null, count: undefined }));
    expect((await store().loadSession(key))?.state).toEqual({ mood: null, extra: [1, { a: null }] });
  });

  each<[string, unknown]>([
    ['a key of the session', 'mood', 'glad'],
    ['a key of the user', 'user:wallet', 400],
    ['a key of the app', 'app:open', { at: [9] }],
    ['a key named like a property of objects', '__proto__', 1],
  ])(
    '[T23a] a change of %s from a value that is no longer current is not written, nor is the rest of the event',
    async (_, name, value) => {
      const delta = (own: unknown) => Object.fromEntries([[name, own]]);
      const sibling = keyOf('s2');
      await store().createSession(sibling, {});
      await store().issueCalls(key, [callOf('c1', { status: 'running' })]);
      const seen = (await store().loadSession(key))?.state ?? {};
      const other = name.includes(':') ? sibling : key;
      await store().appendEvent(other, textEvent('e1', 'first', delta(value)));
      const before = await everything(store());
      await expect(
        store().appendEvent(key, answerEvent('e2', ['c1'], { ...delta('mine'), also: 1 }), seen),
      ).rejects.toThrow(StateConflict);
      expect(await everything(store())).toEqual(before);
      expect(await store().openCalls(key)).toHaveLength(1);
      const now = (await store().loadSession(key))?.state ?? {};
      await store().appendEvent(key, answerEvent('e2', ['c1'], delta('mine')), now);
      expect((await store().loadSession(key))?.state).toEqual({ ...now, ...delta('mine') });
      expect(await store().openCalls(key)).toEqual([]);
    },
  );

  test('[T23] a change conflicts only with changes of the same keys, and only when it names the state that it saw', async () => {
    const seen = (await store().loadSession(key))?.state ?? {};
    await store().appendEvent(key, textEvent('e1', 'first', { mood: 'glad', nothing: undefined }));
    await store().appendEvent(key, textEvent('e2', 'second', { count: 2, 'temp:x': 1, fresh: [] }), seen);
    await store().appendEvent(key, textEvent('e3', 'third', { mood: 'calm' }));
    expect((await store().loadSession(key))?.state).toEqual({ mood: 'calm', count: 2, fresh: [] });
  });

  test('[T23] a key that was removed, added or set to the same value again is compared by its value', async () => {
    const seen = (await store().loadSession(key))?.state ?? {};
    await store().appendEvent(key, textEvent('e1', 'same', { mood: 'calm' }));
    await store().appendEvent(key, textEvent('e2', 'mine', { mood: 'glad' }), seen);
    await store().appendEvent(key, textEvent('e3', 'gone', { count: undefined, added: 1 }));
    for (const name of ['count', 'added']) {
      await expect(store().appendEvent(key, textEvent('e4', 'no', { [name]: 5 }), seen)).rejects.toThrow(
        StateConflict,
      );
    }
    expect((await store().loadSession(key))?.events.map(({ id }) => id)).toEqual(['e1', 'e2', 'e3']);
  });

  test('an event without actions is kept', async () => {
    const bare = { id: 'e1', invocationId: 'i', timestamp: 1 };
    await store().appendEvent(key, bare as unknown as ReturnType<typeof textEvent>);
    expect((await store().loadSession(key))?.events).toEqual([bare]);
  });

  test('app state reaches all users, user state all sessions of the user, temporary state none', async () => {
    const sibling = keyOf('s2');
    const other = keyOf('s3', 'bob');
    const elsewhere = keyOf('s4', 'ann', 'bank');
    await store().createSession(sibling, { 'user:lang': 'en', 'app:open': false, 'temp:x': 1, own: 2 });
    for (const each of [other, elsewhere]) await store().createSession(each, {});
    const event = textEvent('e1', 'hi', {
      'app:open': true,
      'user:name': 'Ann',
      'temp:y': 1,
      mood: 'glad',
    });
    await store().appendEvent(key, event);
    expect(event.actions.stateDelta).toHaveProperty('temp:y');
    const shared = { 'app:open': true, 'user:lang': 'en', 'user:name': 'Ann' };
    expect((await store().loadSession(key))?.state).toEqual({ mood: 'glad', count: 1, ...shared });
    expect((await store().loadSession(sibling))?.state).toEqual({ own: 2, ...shared });
    expect((await store().loadSession(other))?.state).toEqual({ 'app:open': true });
    expect((await store().loadSession(elsewhere))?.state).toEqual({});
    expect((await store().loadSession(key))?.events[0]?.actions.stateDelta).toEqual({
      'app:open': true,
      'user:name': 'Ann',
      mood: 'glad',
    });
    await store().deleteSession(key);
    await store().deleteSession(sibling);
    expect((await store().createSession(keyOf('s5'), {})).state).toEqual(shared);
  });

  test('changing an object after a write or a read does not change the store', async () => {
    const event = textEvent('e1', 'hi', { list: [1] });
    const message = messageOf('m1', 'hi');
    const call = callOf('c1');
    const bytes = new Uint8Array([1, 2]);
    await store().appendEvent(key, event);
    await store().putMessage(key, message);
    await store().issueCalls(key, [call]);
    await store().putFile(key, 'f1', { mediaType: 'image/png', bytes });
    const before = await everything(store());
    event.author = 'mallory';
    (event.actions.stateDelta.list as number[]).push(2);
    message.parts = [];
    call.args.amount = 5_000;
    bytes[0] = 9;
    const session = await store().loadSession(key);
    session?.events.pop();
    if (session) session.state.mood = 'wild';
    const file = await store().loadFile(key, 'f1');
    file?.bytes.fill(7);
    const found = await store().findCall(key, { id: 'c1' });
    if (found) found.args.amount = 6_000;
    expect(await everything(store())).toEqual(before);
  });

  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  each<[Record<string, unknown>]>([
    ['a state value', { mood: 'wild', big: 1n }],
    ['an app state value', { mood: 'wild', 'app:big': 1n }],
    ['a user state value', { mood: 'wild', 'app:ok': 1, 'user:big': cycle }],
  ])('%s without JSON: nothing of the event is written', async (_what, delta) => {
    await store().issueCalls(key, [callOf('c1')]);
    const before = await everything(store());
    clock.set(9_000);
    await expect(store().appendEvent(key, answerEvent('e1', ['c1'], delta))).rejects.toThrow(StoreError);
    expect(await everything(store())).toEqual(before);
    await store().appendEvent(key, answerEvent('e1', ['c1'], { mood: 'fine' }));
    expect((await store().loadSession(key))?.state).toEqual({ mood: 'fine', count: 1 });
  });

  test('a session whose state has no JSON is not created', async () => {
    await expect(store().createSession(keyOf('s2'), { 'app:ok': 1, 'user:ok': 1, big: 1n })).rejects.toThrow(
      StoreError,
    );
    expect(await store().loadSession(keyOf('s2'))).toBeNull();
    expect((await store().loadSession(key))?.state).toEqual({ mood: 'calm', count: 1 });
  });
}
