import {
  type CallRecord,
  type CallStatus,
  StateConflict,
  type Store,
  StoreError,
} from '../server/store/store.ts';
import { answerEvent, callOf, keyOf, lineOf, messageOf, stored, textEvent } from './records.ts';
import { type StandingClock, standingClock } from './standing-clock.ts';
import { ownersSuite } from './store-owners.ts';
import { waitingSuite } from './store-waiting.ts';
import { casesWith, type TestRunner } from './test-runner.ts';

const key = keyOf('s1');
const quiet = { isWaiting: false, hasFailed: false };

/**
 * Everything a store promises, as tests of your test runner: `storeContract(vitest, 'mine', (now) => openMyStore({ now }))`.
 * `open` opens an empty store whose times come from `now`; each test opens one and closes it.
 */
export function storeContract(
  runner: TestRunner,
  name: string,
  open: (now: () => number) => Promise<Store>,
): void {
  runner.describe(`the ${name} store`, () => suite(runner, open));
}

function suite(runner: TestRunner, open: (now: () => number) => Promise<Store>): void {
  const { describe, test, beforeEach, afterEach, expect } = runner;
  const each = casesWith(test);
  let store: Store;
  let clock: StandingClock;

  beforeEach(async () => {
    clock = standingClock();
    store = await open(clock.now);
  });
  afterEach(() => store.close());

  describe('requests', () => {
    const request = (requestId: string, messageId: string | null = null, parts = 0) => ({
      requestId,
      messageId,
      parts,
    });

    test('[B24] are kept with what they ask for, or alone, in the order in which they were accepted', async () => {
      await store.createSession(key, {});
      await store.issueCalls(key, [callOf('c1')]);
      await store.putMessage(key, messageOf('m1', 'hi'), request('r1', 'a1'));
      const move = { id: 'c1', from: 'requested' as const, to: 'approved' as const };
      await store.moveCall(key, move, null, request('r2'));
      await store.appendEvent(key, textEvent('e1', 'hi'), undefined, request('r3', 'a1', 2));
      await store.acceptRequest(key, request('r4'));
      await store.acceptRequest(key, request('r1', 'a2'));
      expect(await store.acceptedRequests(key)).toEqual([
        request('r2'),
        request('r3', 'a1', 2),
        request('r4'),
        request('r1', 'a2'),
      ]);
      await store.deleteSession(key);
      await store.createSession(key, {});
      expect(await store.acceptedRequests(key)).toEqual([]);
    });

    test('[B24] are not kept when what they ask for was not written', async () => {
      await expect(store.acceptRequest(key, request('r0'))).rejects.toThrow(StoreError);
      await store.createSession(key, { color: 'red' });
      await store.issueCalls(key, [callOf('c1')]);
      const move = { id: 'c1', from: 'approved' as const, to: 'running' as const };
      expect(await store.moveCall(key, move, null, request('r1'))).toBeNull();
      const conflict = textEvent('e1', 'hi', { color: 'blue' });
      await expect(store.appendEvent(key, conflict, { color: 'green' }, request('r2'))).rejects.toThrow(
        StateConflict,
      );
      expect(await store.acceptedRequests(key)).toEqual([]);
    });

    test('[B24] are kept up to 256 of a session', async () => {
      await store.createSession(key, {});
      await store.createSession(keyOf('s2'), {});
      await store.acceptRequest(keyOf('s2'), request('other'));
      for (let count = 1; count <= 300; count++) await store.acceptRequest(key, request(`r${count}`));
      const kept = (await store.acceptedRequests(key)).map(({ requestId }) => requestId);
      expect(kept).toEqual(Array.from({ length: 256 }, (_, index) => `r${index + 45}`));
      expect(await store.acceptedRequests(keyOf('s2'))).toEqual([request('other')]);
    });
  });

  describe('sessions', () => {
    test('a new session has its state and nothing else', async () => {
      const fresh = {
        id: 's1',
        title: null,
        createdAt: 1_000,
        updatedAt: 1_000,
        state: { mood: 'calm' },
        events: [],
      };
      expect(await store.createSession(key, { mood: 'calm' })).toEqual(fresh);
      clock.set(2_000);
      expect(await store.loadSession(key)).toEqual(fresh);
      expect(await store.loadMessages(key)).toEqual([]);
      expect(await store.openCalls(key)).toEqual([]);
      expect(await store.auditLog(key)).toEqual([]);
    });

    test('a session that exists is not created again', async () => {
      await store.createSession(key, { mood: 'calm' });
      await expect(store.createSession(key, { mood: 'wild', 'app:x': 1 })).rejects.toThrow(StoreError);
      expect((await store.loadSession(key))?.state).toEqual({ mood: 'calm' });
    });

    test('a session that was never created is null', async () => {
      expect(await store.loadSession(key)).toBeNull();
      expect(await store.loadMessages(key)).toEqual([]);
      expect(await store.openCalls(key)).toEqual([]);
      expect(await store.findCall(key, { id: 'c1' })).toBeNull();
      expect(await store.findCall(key, { approvalId: 'approval_c1' })).toBeNull();
      expect(await store.loadFile(key, 'f1')).toBeNull();
      expect(await store.renameSession(key, 'x')).toBe(false);
      expect(await store.truncateMessages(key, 'm1')).toBe(false);
      expect(await store.deleteSession(key)).toBe(false);
      expect(await store.moveCall(key, { id: 'c1', from: 'requested', to: 'approved' }, null)).toBeNull();
    });

    test('nothing is written to a session that does not exist', async () => {
      for (const write of [
        () => store.appendEvent(key, textEvent('e1', 'hi', { 'app:x': 1 })),
        () => store.putMessage(key, messageOf('m1', 'hi')),
        () => store.issueCalls(key, [callOf('c1')]),
        () => store.putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array([1]) }),
      ]) {
        await expect(write()).rejects.toThrow(StoreError);
      }
      expect(await store.listSessions('shop', 'ann')).toEqual([]);
      expect(await store.auditLog(key)).toEqual([]);
      expect((await store.createSession(key, {})).state).toEqual({});
    });

    test('sessions are listed by last use, and those of one instant by id', async () => {
      for (const id of ['b', 'a', 'c', 'd']) await store.createSession(keyOf(id), {});
      clock.set(3_000);
      await store.appendEvent(keyOf('c'), textEvent('e1', 'hi'));
      clock.set(4_000);
      await store.putMessage(keyOf('b'), messageOf('m1', 'hi'));
      await store.renameSession(keyOf('d'), 'Dinner');
      expect(await store.listSessions('shop', 'ann')).toEqual([
        { id: 'b', title: null, createdAt: 1_000, updatedAt: 4_000, ...quiet },
        { id: 'c', title: null, createdAt: 1_000, updatedAt: 3_000, ...quiet },
        { id: 'a', title: null, createdAt: 1_000, updatedAt: 1_000, ...quiet },
        { id: 'd', title: 'Dinner', createdAt: 1_000, updatedAt: 1_000, ...quiet },
      ]);
    });

    test('the list tells which sessions wait for the person, and in which the last answer failed', async () => {
      const facts = async () => {
        const [{ isWaiting, hasFailed } = quiet] = await store.listSessions('shop', 'ann');
        return [isWaiting, hasFailed];
      };
      await store.createSession(key, {});
      expect(await facts()).toEqual([false, false]);
      await store.issueCalls(key, [callOf('c1', { status: 'requested', expiresAt: 5_000 })]);
      expect(await facts()).toEqual([true, false]);
      clock.set(5_000);
      expect(await facts()).toEqual([false, false]);
      await store.issueCalls(key, [callOf('c2', { status: 'requested', expiresAt: null })]);
      expect(await facts()).toEqual([true, false]);
      await store.moveCall(key, { id: 'c2', from: 'requested', to: 'approved' }, null);
      expect(await facts()).toEqual([false, false]);
      const said = { ...messageOf('m1', 'half'), role: 'assistant' as const };
      for (const metadata of [{ failed: true }, { interrupted: true as const, cutOff: true as const }]) {
        await store.putMessage(key, { ...said, metadata });
        expect(await facts()).toEqual([false, true]);
      }
      await store.putMessage(key, { ...said, metadata: { failed: false } });
      expect(await facts()).toEqual([false, false]);
      await store.putMessage(key, { ...said, metadata: { failed: true } });
      await store.putMessage(key, messageOf('m2', 'again'));
      expect(await facts()).toEqual([false, false]);
    });

    test('a title can be given, changed and taken away', async () => {
      await store.createSession(key, {});
      expect(await store.renameSession(key, 'Lunch')).toBe(true);
      expect((await store.loadSession(key))?.title).toBe('Lunch');
      expect(await store.renameSession(key, null)).toBe(true);
      expect((await store.loadSession(key))?.title).toBeNull();
    });

    test('a session of another user or app is not found, listed, changed or deleted', async () => {
      await store.createSession(key, { secret: 1 });
      await store.appendEvent(key, textEvent('e1', 'hi'));
      await store.putMessage(key, messageOf('m1', 'hi'));
      await store.issueCalls(key, [callOf('c1')]);
      await store.putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array([1]) });
      const before = await everything(store);
      for (const foreign of [keyOf('s1', 'bob'), keyOf('s1', 'ann', 'bank')]) {
        expect(await store.loadSession(foreign)).toBeNull();
        expect(await store.listSessions(foreign.app, foreign.user)).toEqual([]);
        expect(await store.loadMessages(foreign)).toEqual([]);
        expect(await store.openCalls(foreign)).toEqual([]);
        expect(await store.findCall(foreign, { id: 'c1' })).toBeNull();
        expect(await store.findCall(foreign, { approvalId: 'approval_c1' })).toBeNull();
        expect(
          await store.moveCall(foreign, { id: 'c1', from: 'requested', to: 'approved' }, null),
        ).toBeNull();
        expect(await store.auditLog(foreign)).toEqual([]);
        expect(await store.loadFile(foreign, 'f1')).toBeNull();
        expect(await store.renameSession(foreign, 'mine')).toBe(false);
        expect(await store.truncateMessages(foreign, 'm1')).toBe(false);
        expect(await store.deleteSession(foreign)).toBe(false);
      }
      expect(await everything(store)).toEqual(before);
    });

    test('two users may use one session id, each for itself', async () => {
      await store.createSession(key, { who: 'ann' });
      await store.createSession(keyOf('s1', 'bob'), { who: 'bob' });
      await store.appendEvent(key, textEvent('e1', 'from ann'));
      expect((await store.loadSession(keyOf('s1', 'bob')))?.events).toEqual([]);
      await store.deleteSession(key);
      expect((await store.loadSession(keyOf('s1', 'bob')))?.state).toEqual({ who: 'bob' });
    });
  });

  describe('keys', () => {
    test('parts of a key never run together', async () => {
      const keys = [
        keyOf('c', 'b', 'a'),
        keyOf('b:c', '', 'a'),
        keyOf('c', 'a:b', ''),
        keyOf('', 'b:c', 'a'),
        keyOf('c","d', 'b', 'a'),
        keyOf('d', 'b","c', 'a'),
        keyOf('c\0d', 'b', 'a'),
        keyOf('c\0', 'b', 'a'),
        keyOf('d', 'b\0c', 'a'),
        keyOf('\ud800', 'b', 'a'),
        keyOf('\ud801', 'b', 'a'),
        keyOf('\ufffd', 'b', 'a'),
        keyOf('\u001b"\\ud800"', 'b', 'a'),
        keyOf('é', 'b', 'a'),
        keyOf('e\u0301', 'b', 'a'),
        keyOf('C', 'b', 'a'),
        keyOf('%', 'b', 'a'),
        keyOf("'; drop table sessions; --", 'b', 'a'),
        keyOf('x'.repeat(256), 'x'.repeat(256), 'x'.repeat(256)),
        keyOf('1', 'b', 'a'),
        keyOf('1.0', 'b', 'a'),
      ];
      for (const [index, each] of keys.entries()) await store.createSession(each, { index });
      for (const [index, each] of keys.entries()) {
        expect(await store.loadSession(each)).toMatchObject({ id: each.id, state: { index } });
      }
      const listed = await store.listSessions('a', 'b');
      expect(listed.map((summary) => summary.id).sort()).toEqual(
        keys
          .filter((each) => each.app === 'a' && each.user === 'b')
          .map((each) => each.id)
          .sort(),
      );
    });

    each<[]>([['__proto__'], ['constructor'], ['toString'], ['hasOwnProperty'], ['']])(
      '"%s" is a key like any other',
      async (odd) => {
        const strange = keyOf(odd, odd, odd);
        expect(await store.loadSession(strange)).toBeNull();
        expect(await store.findCall(strange, { id: odd })).toBeNull();
        const delta = Object.fromEntries([
          [odd, { polluted: 1 }],
          [`app:${odd}`, { polluted: 2 }],
          [`user:${odd}`, { polluted: 3 }],
        ]);
        await store.createSession(strange, delta);
        const event = textEvent(odd, 'hi', delta);
        await store.appendEvent(strange, event);
        await store.putMessage(strange, messageOf(odd, 'hi'));
        await store.issueCalls(strange, [
          callOf(odd, { approvalId: odd, toolName: odd, args: Object.fromEntries([[odd, 1]]) }),
        ]);
        await store.putFile(strange, odd, { mediaType: 'image/png', bytes: new Uint8Array([1]) });

        const session = await store.loadSession(strange);
        expect(Object.entries(session?.state ?? {}).sort()).toEqual(Object.entries(delta).sort());
        expect(session?.events.map((each) => each.id)).toEqual([odd]);
        expect(Object.entries(session?.events[0]?.actions.stateDelta ?? {})).toEqual(Object.entries(delta));
        expect((await store.loadMessages(strange)).map((message) => message.id)).toEqual([odd]);
        const call = await store.findCall(strange, { approvalId: odd });
        expect(Object.entries(call?.args ?? {})).toEqual([[odd, 1]]);
        expect(await store.loadFile(strange, odd)).toMatchObject({ mediaType: 'image/png' });
        expect(
          await store.moveCall(strange, { id: odd, from: 'requested', to: 'denied' }, null),
        ).toMatchObject({
          status: 'denied',
        });
        expect('polluted' in {}).toBe(false);
        expect(await store.deleteSession(strange)).toBe(true);
        expect(await store.loadSession(strange)).toBeNull();
      },
    );

    test('the state has no inherited keys', async () => {
      await store.createSession(key, {});
      const session = await store.loadSession(key);
      expect('constructor' in (session?.state ?? {})).toBe(false);
    });
  });

  describe('events and state', () => {
    beforeEach(() => store.createSession(key, { mood: 'calm', count: 1 }));

    test('events come back whole, in the order of arrival, whatever their time', async () => {
      const events = [3_000, 1_000, 1_000, 2_000].map((timestamp, index) => ({
        ...textEvent(`e${index}`, 'こんにちは 👋 \0 \ud800'),
        timestamp,
      }));
      for (const event of events) await store.appendEvent(key, event);
      expect((await store.loadSession(key))?.events).toEqual(stored(events));
    });

    test('an event with a known id replaces the earlier one where it stands', async () => {
      await store.appendEvent(key, textEvent('e1', 'one'));
      await store.appendEvent(key, textEvent('e2', 'two'));
      await store.appendEvent(key, textEvent('e1', 'one again', { mood: 'glad' }));
      const session = await store.loadSession(key);
      expect(session?.events).toEqual(
        stored([textEvent('e1', 'one again', { mood: 'glad' }), textEvent('e2', 'two')]),
      );
      expect(session?.state).toEqual({ mood: 'glad', count: 1 });
    });

    test('one event id in two sessions is two events', async () => {
      await store.createSession(keyOf('s2'), {});
      await store.appendEvent(key, textEvent('e1', 'one'));
      await store.appendEvent(keyOf('s2'), textEvent('e1', 'two'));
      expect((await store.loadSession(key))?.events).toEqual(stored([textEvent('e1', 'one')]));
    });

    test('a state delta changes, adds, empties and removes keys', async () => {
      await store.appendEvent(key, textEvent('e1', 'hi', { mood: 'glad', extra: [1, { a: null }] }));
      await store.appendEvent(key, textEvent('e2', 'hi', { mood: null, count: undefined }));
      expect((await store.loadSession(key))?.state).toEqual({ mood: null, extra: [1, { a: null }] });
    });

    each<[string, unknown]>([
      ['a key of the session', 'mood', 'glad'],
      ['a key of the user', 'user:wallet', 400],
      ['a key of the app', 'app:open', { at: [9] }],
      ['a key named like a property of objects', '__proto__', 1],
    ])(
      '[T23] a change of %s that was made from another value is not written, nor is anything with it',
      async (_, name, value) => {
        const delta = (own: unknown) => Object.fromEntries([[name, own]]);
        const sibling = keyOf('s2');
        await store.createSession(sibling, {});
        await store.issueCalls(key, [callOf('c1', { status: 'running' })]);
        const seen = (await store.loadSession(key))?.state ?? {};
        const other = name.includes(':') ? sibling : key;
        await store.appendEvent(other, textEvent('e1', 'first', delta(value)));
        const before = await everything(store);
        await expect(
          store.appendEvent(key, answerEvent('e2', ['c1'], { ...delta('mine'), also: 1 }), seen),
        ).rejects.toThrow(StateConflict);
        expect(await everything(store)).toEqual(before);
        expect(await store.openCalls(key)).toHaveLength(1);
        const now = (await store.loadSession(key))?.state ?? {};
        await store.appendEvent(key, answerEvent('e2', ['c1'], delta('mine')), now);
        expect((await store.loadSession(key))?.state).toEqual({ ...now, ...delta('mine') });
        expect(await store.openCalls(key)).toEqual([]);
      },
    );

    test('[T23] what others changed does not matter to a change of other keys, nor to one that names no state', async () => {
      const seen = (await store.loadSession(key))?.state ?? {};
      await store.appendEvent(key, textEvent('e1', 'first', { mood: 'glad', nothing: undefined }));
      await store.appendEvent(key, textEvent('e2', 'second', { count: 2, 'temp:x': 1, fresh: [] }), seen);
      await store.appendEvent(key, textEvent('e3', 'third', { mood: 'calm' }));
      expect((await store.loadSession(key))?.state).toEqual({ mood: 'calm', count: 2, fresh: [] });
    });

    test('[T23] a key that was removed, added or set to the same value again is compared by its value', async () => {
      const seen = (await store.loadSession(key))?.state ?? {};
      await store.appendEvent(key, textEvent('e1', 'same', { mood: 'calm' }));
      await store.appendEvent(key, textEvent('e2', 'mine', { mood: 'glad' }), seen);
      await store.appendEvent(key, textEvent('e3', 'gone', { count: undefined, added: 1 }));
      for (const name of ['count', 'added']) {
        await expect(store.appendEvent(key, textEvent('e4', 'no', { [name]: 5 }), seen)).rejects.toThrow(
          StateConflict,
        );
      }
      expect((await store.loadSession(key))?.events.map(({ id }) => id)).toEqual(['e1', 'e2', 'e3']);
    });

    test('an event without actions is kept', async () => {
      const bare = { id: 'e1', invocationId: 'i', timestamp: 1 };
      await store.appendEvent(key, bare as unknown as ReturnType<typeof textEvent>);
      expect((await store.loadSession(key))?.events).toEqual([bare]);
    });

    test('app state reaches all users, user state all sessions of the user, temporary state nobody', async () => {
      const sibling = keyOf('s2');
      const other = keyOf('s3', 'bob');
      const elsewhere = keyOf('s4', 'ann', 'bank');
      await store.createSession(sibling, { 'user:lang': 'en', 'app:open': false, 'temp:x': 1, own: 2 });
      for (const each of [other, elsewhere]) await store.createSession(each, {});
      const event = textEvent('e1', 'hi', {
        'app:open': true,
        'user:name': 'Ann',
        'temp:y': 1,
        mood: 'glad',
      });
      await store.appendEvent(key, event);
      expect(event.actions.stateDelta).toHaveProperty('temp:y');
      const shared = { 'app:open': true, 'user:lang': 'en', 'user:name': 'Ann' };
      expect((await store.loadSession(key))?.state).toEqual({ mood: 'glad', count: 1, ...shared });
      expect((await store.loadSession(sibling))?.state).toEqual({ own: 2, ...shared });
      expect((await store.loadSession(other))?.state).toEqual({ 'app:open': true });
      expect((await store.loadSession(elsewhere))?.state).toEqual({});
      expect((await store.loadSession(key))?.events[0]?.actions.stateDelta).toEqual({
        'app:open': true,
        'user:name': 'Ann',
        mood: 'glad',
      });
      await store.deleteSession(key);
      await store.deleteSession(sibling);
      expect((await store.createSession(keyOf('s5'), {})).state).toEqual(shared);
    });

    test('what the caller does to an object afterwards changes nothing here', async () => {
      const event = textEvent('e1', 'hi', { list: [1] });
      const message = messageOf('m1', 'hi');
      const call = callOf('c1');
      const bytes = new Uint8Array([1, 2]);
      await store.appendEvent(key, event);
      await store.putMessage(key, message);
      await store.issueCalls(key, [call]);
      await store.putFile(key, 'f1', { mediaType: 'image/png', bytes });
      const before = await everything(store);
      event.author = 'mallory';
      (event.actions.stateDelta.list as number[]).push(2);
      message.parts = [];
      call.args.amount = 5_000;
      bytes[0] = 9;
      const session = await store.loadSession(key);
      session?.events.pop();
      if (session) session.state.mood = 'wild';
      const file = await store.loadFile(key, 'f1');
      file?.bytes.fill(7);
      const found = await store.findCall(key, { id: 'c1' });
      if (found) found.args.amount = 6_000;
      expect(await everything(store)).toEqual(before);
    });

    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    each<[Record<string, unknown>]>([
      ['a state value', { mood: 'wild', big: 1n }],
      ['an app state value', { mood: 'wild', 'app:big': 1n }],
      ['a user state value', { mood: 'wild', 'app:ok': 1, 'user:big': cycle }],
    ])('%s without JSON: nothing of the event is written', async (_what, delta) => {
      await store.issueCalls(key, [callOf('c1')]);
      const before = await everything(store);
      clock.set(9_000);
      await expect(store.appendEvent(key, answerEvent('e1', ['c1'], delta))).rejects.toThrow(StoreError);
      expect(await everything(store)).toEqual(before);
      await store.appendEvent(key, answerEvent('e1', ['c1'], { mood: 'fine' }));
      expect((await store.loadSession(key))?.state).toEqual({ mood: 'fine', count: 1 });
    });

    test('a session whose state has no JSON is not created', async () => {
      await expect(store.createSession(keyOf('s2'), { 'app:ok': 1, 'user:ok': 1, big: 1n })).rejects.toThrow(
        StoreError,
      );
      expect(await store.loadSession(keyOf('s2'))).toBeNull();
      expect((await store.loadSession(key))?.state).toEqual({ mood: 'calm', count: 1 });
    });
  });

  describe('messages', () => {
    beforeEach(() => store.createSession(key, {}));

    test('messages stand in the order of arrival; one with a known id is replaced where it stands', async () => {
      for (const id of ['m2', 'm1', 'm3']) await store.putMessage(key, messageOf(id, `first ${id}`));
      await store.putMessage(key, messageOf('m1', 'second m1'));
      expect(await store.loadMessages(key)).toEqual([
        messageOf('m2', 'first m2'),
        messageOf('m1', 'second m1'),
        messageOf('m3', 'first m3'),
      ]);
    });

    test('truncating removes a message and all after it, and later ones follow at the end', async () => {
      for (const id of ['m1', 'm2', 'm3']) await store.putMessage(key, messageOf(id, id));
      expect(await store.truncateMessages(key, 'm9')).toBe(false);
      clock.set(5_000);
      expect(await store.truncateMessages(key, 'm2')).toBe(true);
      expect((await store.loadSession(key))?.updatedAt).toBe(5_000);
      await store.putMessage(key, messageOf('m3', 'again'));
      expect(await store.loadMessages(key)).toEqual([messageOf('m1', 'm1'), messageOf('m3', 'again')]);
      expect(await store.truncateMessages(key, 'm1')).toBe(true);
      expect(await store.loadMessages(key)).toEqual([]);
    });

    test('pages are counted from the end, by number and by size, and one message always fits', async () => {
      const ids = ['m1', 'm2', 'm3', 'm4', 'm5'];
      for (const id of ids) await store.putMessage(key, messageOf(id, 'é'.repeat(100)));
      const size = Buffer.byteLength(JSON.stringify(messageOf('m1', 'é'.repeat(100))));
      const page = async (before: string | undefined, count: number, bytes = 1e6) => {
        const found = await store.loadPage(key, { before, count, bytes });
        return found && [found.messages.map(({ id }) => id), found.hasOlder];
      };
      expect(await page(undefined, 2)).toEqual([['m4', 'm5'], true]);
      expect(await page('m4', 2)).toEqual([['m2', 'm3'], true]);
      expect(await page('m2', 2)).toEqual([['m1'], false]);
      expect(await page('m1', 2)).toEqual([[], false]);
      expect(await page(undefined, 5)).toEqual([ids, false]);
      expect(await page(undefined, 5, size * 3)).toEqual([['m3', 'm4', 'm5'], true]);
      expect(await page(undefined, 5, size * 3 - 1)).toEqual([['m4', 'm5'], true]);
      expect(await page(undefined, 5, 0)).toEqual([['m5'], true]);
      expect(await page('m9', 5)).toBeNull();
      expect((await store.loadPage(key, { count: 1, bytes: 0 }))?.messages).toEqual([
        messageOf('m5', 'é'.repeat(100)),
      ]);
      expect(await store.loadPage(keyOf('s2'), { count: 1, bytes: 0 })).toEqual({
        messages: [],
        hasOlder: false,
      });
      expect(await store.findSession(keyOf('s2'))).toBeNull();
      expect(await store.findSession(key)).toEqual({
        id: 's1',
        title: null,
        createdAt: 1_000,
        updatedAt: 1_000,
      });
    });

    test('a message without JSON is not written', async () => {
      await store.putMessage(key, messageOf('m1', 'hi'));
      const bad = { ...messageOf('m1', 'bye'), metadata: { big: 1n } };
      await expect(store.putMessage(key, bad as unknown as ReturnType<typeof messageOf>)).rejects.toThrow(
        StoreError,
      );
      expect(await store.loadMessages(key)).toEqual([messageOf('m1', 'hi')]);
    });
  });

  describe('calls', () => {
    beforeEach(() => store.createSession(key, {}));

    test('issued calls are found, open, in order, with a line for each that asks', async () => {
      const asks = callOf('c2', { expiresAt: 31_000, branch: 'root.child' });
      const asksNot = callOf('c1', { approvalId: null, runsOn: 'client', status: 'running' });
      await store.issueCalls(key, [asks, asksNot]);
      await store.issueCalls(key, [callOf('c0')]);
      expect(await store.openCalls(key)).toEqual([asks, asksNot, callOf('c0')]);
      expect(await store.findCall(key, { id: 'c1' })).toEqual(asksNot);
      expect(await store.findCall(key, { approvalId: 'approval_c2' })).toEqual(asks);
      expect(await store.findCall(key, { id: 'approval_c2' })).toBeNull();
      expect(await store.findCall(key, { approvalId: 'c2' })).toBeNull();
      const common = { at: 1_000, sessionId: 's1', user: 'ann' };
      expect(await store.auditLog(key)).toEqual([
        { ...common, ...lineOf('issued', 'c2') },
        { ...common, ...lineOf('issued', 'c0') },
      ]);
    });

    each<[CallRecord[]]>([
      ['a recorded id', [callOf('c2'), callOf('c1', { approvalId: 'approval_new' })]],
      ['a recorded approval id', [callOf('c2'), callOf('c3', { approvalId: 'approval_c1' })]],
      ['one id twice', [callOf('c2'), callOf('c2', { approvalId: 'approval_new' })]],
      ['one approval id twice', [callOf('c2'), callOf('c3', { approvalId: 'approval_c2' })]],
      ['arguments without JSON', [callOf('c2'), callOf('c3', { args: { big: 1n } })]],
    ])('issuing calls with %s throws and records none of them', async (_what, calls) => {
      await store.issueCalls(key, [callOf('c1')]);
      await store.moveCall(key, { id: 'c1', from: 'requested', to: 'denied' }, null);
      const before = await everything(store);
      await expect(store.issueCalls(key, calls)).rejects.toThrow(StoreError);
      expect(await everything(store)).toEqual(before);
    });

    test('the same call id may be issued in another session', async () => {
      await store.createSession(keyOf('s2'), {});
      await store.issueCalls(key, [callOf('c1')]);
      await store.issueCalls(keyOf('s2'), [callOf('c1', { args: { amount: 9 } })]);
      expect((await store.findCall(key, { id: 'c1' }))?.args).toEqual({ amount: 5, to: 'Bob' });
    });

    test('many calls without approval may stand in one session', async () => {
      const calls = ['c1', 'c2', 'c3'].map((id) => callOf(id, { approvalId: null, status: 'running' }));
      await store.issueCalls(key, calls);
      expect(await store.openCalls(key)).toEqual(calls);
    });

    test('a call moves only from where it is believed to be, and the line goes with the move', async () => {
      await store.issueCalls(key, [callOf('c1')]);
      clock.set(2_000);
      expect(
        await store.moveCall(key, { id: 'c1', from: 'approved', to: 'running' }, lineOf('consumed', 'c1')),
      ).toBeNull();
      expect(
        await store.moveCall(key, { id: 'c9', from: 'requested', to: 'running' }, lineOf('consumed', 'c9')),
      ).toBeNull();
      const denied = callOf('c1', { status: 'denied', reason: 'too much', expiresAt: 5_000 });
      expect(
        await store.moveCall(
          key,
          { id: 'c1', from: 'requested', to: 'denied', reason: 'too much', expiresAt: 5_000 },
          lineOf('denied', 'c1', { reason: 'too much' }),
        ),
      ).toEqual(denied);
      expect(await store.findCall(key, { id: 'c1' })).toEqual(denied);
      expect((await store.auditLog(key)).map(({ at, kind, reason }) => [at, kind, reason])).toEqual([
        [1_000, 'issued', null],
        [2_000, 'denied', 'too much'],
      ]);
    });

    test('a move keeps the reason and the expiry it does not name, and can take them away', async () => {
      await store.issueCalls(key, [callOf('c1', { reason: 'why', expiresAt: 5_000 })]);
      expect(await store.moveCall(key, { id: 'c1', from: 'requested', to: 'approved' }, null)).toEqual(
        callOf('c1', { status: 'approved', reason: 'why', expiresAt: 5_000 }),
      );
      expect(
        await store.moveCall(
          key,
          { id: 'c1', from: 'approved', to: 'running', reason: null, expiresAt: null },
          null,
        ),
      ).toEqual(callOf('c1', { status: 'running' }));
    });

    test('a move whose line has no JSON does not happen', async () => {
      await store.issueCalls(key, [callOf('c1')]);
      const before = await everything(store);
      await expect(
        store.moveCall(
          key,
          { id: 'c1', from: 'requested', to: 'approved' },
          lineOf('approved', 'c1', { args: { big: 1n } }),
        ),
      ).rejects.toThrow(StoreError);
      expect(await everything(store)).toEqual(before);
    });

    test('of a hundred answers at once exactly one is taken', async () => {
      await store.issueCalls(key, [callOf('c1'), callOf('c2', { status: 'approved' })]);
      const decisions = await Promise.all(
        Array.from({ length: 100 }, (_, index) => {
          const to: CallStatus = index % 2 === 0 ? 'approved' : 'denied';
          const kind = index % 2 === 0 ? 'approved' : 'denied';
          return store.moveCall(
            key,
            { id: 'c1', from: 'requested', to, reason: `${index}` },
            lineOf(kind, 'c1'),
          );
        }),
      );
      const consumed = await Promise.all(
        Array.from({ length: 100 }, () =>
          store.moveCall(key, { id: 'c2', from: 'approved', to: 'running' }, lineOf('consumed', 'c2')),
        ),
      );
      const taken = decisions.filter((call) => call !== null);
      expect(taken).toHaveLength(1);
      expect(await store.findCall(key, { id: 'c1' })).toEqual(taken[0]);
      expect(consumed.filter((call) => call !== null)).toEqual([callOf('c2', { status: 'running' })]);
      expect((await store.auditLog(key)).map((line) => line.kind)).toEqual([
        'issued',
        'issued',
        taken[0]?.status,
        'consumed',
      ]);
    });

    test('an event settles the calls it answers, and only those', async () => {
      await store.createSession(keyOf('s2'), {});
      await store.issueCalls(keyOf('s2'), [callOf('c1')]);
      await store.issueCalls(
        key,
        (['requested', 'approved', 'denied', 'expired', 'running'] as const).map((status, index) =>
          callOf(`c${index}`, { status }),
        ),
      );
      await store.appendEvent(key, textEvent('e1', 'c0'));
      expect(await store.openCalls(key)).toHaveLength(5);
      await store.appendEvent(key, answerEvent('e2', ['c4', 'unknown', 'c2', 'c1', 'c3']));
      expect(await store.openCalls(key)).toEqual([callOf('c0')]);
      expect(await store.findCall(key, { id: 'c4' })).toEqual(callOf('c4', { status: 'settled' }));
      expect(await store.findCall(key, { approvalId: 'approval_c2' })).toEqual(
        callOf('c2', { status: 'settled' }),
      );
      expect(await store.moveCall(key, { id: 'c4', from: 'running', to: 'settled' }, null)).toBeNull();
      expect(await store.openCalls(keyOf('s2'))).toEqual([callOf('c1')]);
    });
  });

  describe('the audit log', () => {
    test('lines are added with time, session and user', async () => {
      await store.createSession(key, {});
      await store.audit(key, lineOf('refused', 'c1', { reason: 'unknown approval', args: null }));
      clock.set(2_000);
      const bare = {
        kind: 'refused' as const,
        approvalId: null,
        toolCallId: null,
        toolName: null,
        argsHash: null,
        args: null,
        reason: null,
      };
      await store.audit(key, bare);
      expect(await store.auditLog(key)).toEqual([
        {
          at: 1_000,
          sessionId: 's1',
          user: 'ann',
          ...lineOf('refused', 'c1', { reason: 'unknown approval', args: null }),
        },
        { at: 2_000, sessionId: 's1', user: 'ann', ...bare },
      ]);
    });

    test('a deleted session leaves its lines, without arguments and reasons, and nothing else', async () => {
      await store.createSession(key, { mood: 'calm' });
      await store.appendEvent(key, textEvent('e1', 'hi'));
      await store.putMessage(key, messageOf('m1', 'hi'));
      await store.issueCalls(key, [callOf('c1')]);
      await store.moveCall(
        key,
        { id: 'c1', from: 'requested', to: 'denied', reason: 'a secret' },
        lineOf('denied', 'c1', { reason: 'a secret' }),
      );
      await store.putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array([1]) });
      await store.createSession(keyOf('s2'), {});
      await store.issueCalls(keyOf('s2'), [callOf('c1')]);

      expect(await store.deleteSession(key)).toBe(true);
      const common = { at: 1_000, sessionId: 's1', user: 'ann' };
      const kept = [
        { ...common, ...lineOf('issued', 'c1', { args: null }) },
        { ...common, ...lineOf('denied', 'c1', { args: null }) },
      ];
      expect(await everything(store)).toEqual({
        session: null,
        messages: [],
        calls: [],
        log: kept,
        file: null,
        summaries: [expect.objectContaining({ id: 's2' })],
      });
      expect(await store.findCall(key, { id: 'c1' })).toBeNull();
      expect(await store.deleteSession(key)).toBe(false);

      await store.audit(key, lineOf('refused', 'c1', { reason: 'no such session' }));
      expect((await store.auditLog(key))[2]).toEqual({
        ...common,
        ...lineOf('refused', 'c1', { reason: 'no such session', args: null }),
      });
      expect((await store.auditLog(keyOf('s2')))[0]?.args).toEqual({ amount: 5, to: 'Bob' });

      await store.createSession(key, {});
      expect(await everything(store)).toMatchObject({
        session: { state: {}, events: [], title: null },
        messages: [],
        calls: [],
        file: null,
      });
    });
  });

  describe('files', () => {
    beforeEach(() => store.createSession(key, {}));

    test('a file comes back byte for byte, an empty one too, and is replaced by its id', async () => {
      const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
      await store.putFile(key, 'f1', { mediaType: 'image/png', bytes });
      await store.putFile(key, 'f2', { mediaType: 'text/plain', bytes: new Uint8Array() });
      expect(await store.loadFile(key, 'f1')).toEqual({ mediaType: 'image/png', bytes });
      expect(await store.loadFile(key, 'f2')).toEqual({ mediaType: 'text/plain', bytes: new Uint8Array() });
      await store.putFile(key, 'f1', { mediaType: 'image/webp', bytes: bytes.subarray(10, 12) });
      expect(await store.loadFile(key, 'f1')).toEqual({
        mediaType: 'image/webp',
        bytes: new Uint8Array([10, 11]),
      });
      expect(await store.loadFile(key, 'f3')).toBeNull();
    });
  });

  describe('owners', () => ownersSuite(runner, () => store));

  describe('messages that wait', () => waitingSuite(runner, () => store));

  test('a closed store refuses everything, and may be closed again', async () => {
    await store.createSession(key, {});
    const closing = [store.close(), store.close()];
    await Promise.all(closing);
    for (const use of [
      () => store.createSession(key, {}),
      () => store.loadSession(key),
      () => store.own(key),
      () => store.listSessions('shop', 'ann'),
      () => store.renameSession(key, null),
      () => store.deleteSession(key),
      () => store.appendEvent(key, textEvent('e1', 'hi')),
      () => store.putMessage(key, messageOf('m1', 'hi')),
      () => store.loadMessages(key),
      () => store.truncateMessages(key, 'm1'),
      () => store.issueCalls(key, []),
      () => store.openCalls(key),
      () => store.findCall(key, { id: 'c1' }),
      () => store.moveCall(key, { id: 'c1', from: 'requested', to: 'approved' }, null),
      () => store.decideCall(key, { id: 'c1', to: 'approved', reason: null }, lineOf('approved', 'c1')),
      () => store.audit(key, lineOf('refused', 'c1')),
      () => store.auditLog(key),
      () => store.putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array() }),
      () => store.loadFile(key, 'f1'),
    ]) {
      await expect(use()).rejects.toThrow(new StoreError('The store is closed.'));
    }
  });
}

async function everything(store: Store): Promise<Record<string, unknown>> {
  return {
    session: await store.loadSession(key),
    messages: await store.loadMessages(key),
    calls: await store.openCalls(key),
    log: await store.auditLog(key),
    file: await store.loadFile(key, 'f1'),
    summaries: await store.listSessions('shop', 'ann').then((all) => all.filter(({ id }) => id !== 's1')),
  };
}
