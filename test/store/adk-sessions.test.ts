import {
  type BaseSessionService,
  createEvent,
  type Event,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  Runner,
  type Session,
  State,
  TruncatingContextCompactor,
} from '@google/adk';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { StoreSessionService } from '../../src/server/store/adk-sessions.ts';
import { createMemoryStore } from '../../src/server/store/memory/memory-store.ts';
import { prefixes } from '../../src/server/store/rules.ts';
import {
  type NodeDirectory,
  type SharedStore,
  type Store,
  StoreError,
} from '../../src/server/store/store.ts';
import { keyOf, messageOf, standingClock, stored, textEvent } from '../../src/testing/store/setup.ts';
import { ScriptedModel } from './support/scripted-model.ts';
import { kinds } from './support/stores.ts';

const here = { appName: 'shop', userId: 'ann', sessionId: 's1' };

describe.each(kinds)('ADK sessions in the %s store', (_name, open) => {
  let store: Store;
  let service: StoreSessionService;

  beforeEach(async () => {
    store = await open(standingClock().now);
    service = new StoreSessionService(store);
  });
  afterEach(() => store.close());

  test('a conversation with tools, state and two turns leaves what ADK itself would keep', async () => {
    const ours = await talk(service);
    const theirs = await talk(new InMemorySessionService());
    expect(ours).toEqual(theirs);
    expect(ours.events).toHaveLength(6);
    const reloaded = await new StoreSessionService(store).getSession(here);
    expect(normalised(reloaded)).toEqual(ours.session);
  });

  test('a new session can be written to at once', async () => {
    const session = await service.createSession({ ...here, state: { mood: 'calm', 'temp:x': 1 } });
    expect(session).toEqual({ ...asAdk(here), state: { mood: 'calm' }, events: [], lastUpdateTime: 1_000 });
    await service.appendEvent({ session, event: textEvent('e1', 'hi', { mood: 'glad' }) });
    expect(session.events.map((event) => event.id)).toEqual(['e1']);
    expect(session.state).toEqual({ mood: 'glad' });
    expect((await service.getSession(here))?.events).toEqual(stored(session.events));
  });

  test('a session without an id gets one, and one that exists is not replaced', async () => {
    const session = await service.createSession({ appName: 'shop', userId: 'ann' });
    expect(session.id).toMatch(/^[0-9a-f-]{36}$/);
    await expect(service.createSession({ ...here, sessionId: session.id })).rejects.toThrow(StoreError);
  });

  test('an unknown session is undefined, and a foreign one too', async () => {
    await service.createSession(here);
    expect(await service.getSession({ ...here, sessionId: 's2' })).toBeUndefined();
    expect(await service.getSession({ ...here, userId: 'bob' })).toBeUndefined();
    expect(await service.getSession({ ...here, appName: 'bank' })).toBeUndefined();
  });

  test('a deleted session is gone at once, also for a turn that still runs', async () => {
    await service.createSession(here);
    const session = await get(service);
    await service.deleteSession(here);
    expect(await service.getSession(here)).toBeUndefined();
    await expect(service.appendEvent({ session, event: textEvent('e1', 'hi') })).rejects.toThrow(StoreError);
    expect(session.events).toEqual([]);
  });

  test('partial events and resume markers are given back and kept nowhere', async () => {
    const session = await service.createSession(here);
    for (const event of [
      { ...textEvent('e1', 'h', { mood: 'glad' }), partial: true },
      { ...textEvent('e2', '', { mood: 'glad' }), customMetadata: { duologue: 'resume' } },
    ]) {
      expect(await service.appendEvent({ session, event })).toBe(event);
    }
    expect(session).toMatchObject({ state: {}, events: [] });
    expect(await store.loadSession(keyOf('s1'))).toMatchObject({ state: {}, events: [] });
  });

  test('what a turn does to its session without committing it ends with the turn', async () => {
    await service.createSession({ ...here, state: { basket: ['tea'] } });
    const session = await get(service);
    await service.appendEvent({ session, event: textEvent('e1', 'hi') });
    session.state.mood = 'uncommitted';
    session.state['temp:x'] = 1;
    (session.state.basket as string[]).push('stolen');
    session.events.push(textEvent('never', 'appended'));
    session.events.splice(0, 1);
    const next = await get(service);
    expect(next.state).toEqual({ basket: ['tea'] });
    expect(next.events.map((event) => event.id)).toEqual(['e1']);
  });

  test('what a tool does to a state value after the commit is not committed', async () => {
    const session = await service.createSession(here);
    const basket = ['tea'];
    await service.appendEvent({ session: await get(service), event: textEvent('e1', 'hi', { basket }) });
    basket.push('stolen');
    expect((await get(service)).state).toEqual({ basket: ['tea'] });
    expect(session.state).toEqual({});
  });

  test('app and user state reach the sessions that are kept ready', async () => {
    await service.createSession(here);
    await service.createSession({ ...here, sessionId: 's2' });
    await service.createSession({ ...here, userId: 'bob' });
    for (const each of [here, { ...here, sessionId: 's2' }, { ...here, userId: 'bob' }]) {
      await service.getSession(each);
    }
    const event = textEvent('e1', 'hi', { 'app:open': true, 'user:name': 'Ann', 'temp:x': 1, own: 1 });
    await service.appendEvent({ session: await get(service), event });
    await service.createSession({ ...here, sessionId: 's3', state: { 'user:lang': 'en' } });
    const seen = async (of: StoreSessionService) => [
      (await of.getSession(here))?.state,
      (await of.getSession({ ...here, sessionId: 's2' }))?.state,
      (await of.getSession({ ...here, userId: 'bob' }))?.state,
    ];
    const shared = { 'app:open': true, 'user:name': 'Ann', 'user:lang': 'en' };
    expect(await seen(service)).toEqual([{ own: 1, ...shared }, shared, { 'app:open': true }]);
    expect(await seen(new StoreSessionService(store))).toEqual(await seen(service));
  });

  test('a write that fails leaves session, store and what is kept ready as they were', async () => {
    await service.createSession({ ...here, state: { mood: 'calm' } });
    const session = await get(service);
    await service.appendEvent({ session, event: textEvent('e1', 'hi') });
    const event = textEvent('e2', 'hi', { mood: 'wild', big: 1n });
    await expect(service.appendEvent({ session, event })).rejects.toThrow(StoreError);
    expect(session.events.map((each) => each.id)).toEqual(['e1']);
    expect(session.state).toEqual({ mood: 'calm' });
    expect(await get(service)).toMatchObject({ state: { mood: 'calm' }, events: [{ id: 'e1' }] });
    expect(await store.loadSession(keyOf('s1'))).toMatchObject({
      state: { mood: 'calm' },
      events: [{ id: 'e1' }],
    });
  });

  test('an event with a known id replaces the earlier one', async () => {
    const session = await service.createSession(here);
    for (const event of [textEvent('e1', 'one'), textEvent('e2', 'two'), textEvent('e1', 'again')]) {
      await service.appendEvent({ session, event });
    }
    const expected = [textEvent('e1', 'again'), textEvent('e2', 'two')];
    expect(stored(session.events)).toEqual(stored(expected));
    expect(stored((await get(service)).events)).toEqual(stored(expected));
    expect((await store.loadSession(keyOf('s1')))?.events).toEqual(stored(expected));
  });

  test('a turn whose session fell out of memory goes on, and nobody is shown an old copy', async () => {
    const small = new StoreSessionService(store, { sessions: 1, characters: 1_000_000, history });
    await small.createSession(here);
    await small.createSession({ ...here, sessionId: 's2' });
    const session = await get(small);
    await small.getSession({ ...here, sessionId: 's2' });
    await small.appendEvent({ session, event: textEvent('e1', 'one') });
    const second = await get(small);
    await small.appendEvent({ session, event: textEvent('e2', 'two') });
    await small.appendEvent({ session: second, event: textEvent('e3', 'three') });
    await small.getSession({ ...here, sessionId: 's2' });
    await small.appendEvent({ session, event: textEvent('e4', 'four', { mood: 'glad' }) });
    const last = await get(small);
    expect(last.events.map((event) => event.id)).toEqual(['e1', 'e2', 'e3', 'e4']);
    expect(last.state).toEqual({ mood: 'glad' });
    expect(session.events.map((event) => event.id)).toEqual(['e1', 'e2', 'e4']);
  });

  test('a session too large to be kept ready is read each time', async () => {
    const tiny = new StoreSessionService(store, { sessions: 10, characters: 600, history });
    const session = await tiny.createSession(here);
    await tiny.getSession(here);
    await tiny.appendEvent({ session, event: textEvent('e1', 'a'.repeat(600)) });
    await store.appendEvent(keyOf('s1'), textEvent('e2', 'by another way'));
    expect((await get(tiny)).events.map((event) => event.id)).toEqual(['e1', 'e2']);
  });

  test('after `forget` a session is read again', async () => {
    await service.createSession(here);
    await service.getSession(here);
    await store.appendEvent(keyOf('s1'), textEvent('e1', 'by another way'));
    expect((await get(service)).events).toEqual([]);
    service.forget(keyOf('s1'));
    expect((await get(service)).events.map((event) => event.id)).toEqual(['e1']);
  });

  test('a session is read once while it is kept ready', async () => {
    let loads = 0;
    const counting: Store = Object.assign(Object.create(store) as Store, {
      loadSession: (key: Parameters<Store['loadSession']>[0]) => {
        loads++;
        return store.loadSession(key);
      },
      appendEvent: store.appendEvent.bind(store),
    });
    await service.createSession(here);
    const counted = new StoreSessionService(counting);
    for (let turn = 0; turn < 5; turn++) {
      const session = await get(counted);
      await counted.appendEvent({ session, event: textEvent(`e${turn}`, 'hi') });
    }
    expect(loads).toBe(1);
    expect((await get(counted)).events).toHaveLength(5);
  });

  test('events and state are what ADK keeps in memory, whatever is appended in whatever order', async () => {
    const id = fc.constantFrom('e1', 'e2', 'e3', 'e4', '__proto__', 'constructor');
    const value = fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.array(fc.integer()));
    const name = fc.constantFrom(
      'a',
      'b',
      'app:a',
      'user:a',
      'temp:a',
      '__proto__',
      'app:__proto__',
      'constructor',
    );
    const step = fc.oneof(
      fc.record({
        do: fc.constant('append' as const),
        session: fc.constantFrom('s1', 's2'),
        id,
        partial: fc.boolean(),
        delta: fc.uniqueArray(fc.tuple(name, value), { maxLength: 3, selector: ([key]) => key }),
        fresh: fc.boolean(),
      }),
      fc.record({ do: fc.constant('restart' as const) }),
    );
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const appName = `app ${run++}`;
        const theirs = new InMemorySessionService();
        let ours = new StoreSessionService(store);
        const held = new Map<string, [Session, Session]>();
        const reopen = async (sessionId: string): Promise<[Session, Session]> => {
          const request = { appName, userId: 'ann', sessionId };
          const pair: [Session, Session] = [
            (await ours.getSession(request)) ?? (await ours.createSession(request)),
            (await theirs.getSession(request)) ?? (await theirs.createSession(request)),
          ];
          held.set(sessionId, pair);
          return pair;
        };
        for (const each of steps) {
          if (each.do === 'restart') {
            ours = new StoreSessionService(store);
            held.clear();
            continue;
          }
          const pair = each.fresh ? await reopen(each.session) : held.get(each.session);
          const [mine, adks] = pair ?? (await reopen(each.session));
          const make = (): Event => {
            const delta = Object.fromEntries(structuredClone(each.delta));
            return { ...textEvent(each.id, each.id, delta), partial: each.partial };
          };
          await ours.appendEvent({ session: mine, event: make() });
          // ADK's own takes the app state even of a partial event, which its runner never appends.
          if (!each.partial) await theirs.appendEvent({ session: adks, event: make() });
          expect(JSON.parse(JSON.stringify(mine.events))).toEqual(JSON.parse(JSON.stringify(adks.events)));
          const [now, adksNow] = await reopen(each.session);
          expect(stored(now.events)).toEqual(stored(adksNow.events));
          expect(entriesOf(now.state)).toEqual(entriesOf(adksNow.state));
        }
      }),
      { numRuns: 60 },
    );
  });
});

const history = { events: 1000, bytes: 1_000_000 };

describe('ADK sessions', () => {
  test("the prefixes of state keys are ADK's", () => {
    expect(prefixes).toEqual({ app: State.APP_PREFIX, user: State.USER_PREFIX, temp: State.TEMP_PREFIX });
  });

  test('a part of the history is given as ADK gives it', async () => {
    const ours = new StoreSessionService(createMemoryStore());
    const theirs = new InMemorySessionService();
    for (const service of [ours, theirs] as BaseSessionService[]) {
      const session = await service.createSession(here);
      for (const [index, timestamp] of [10, 20, 20, 30, 25].entries()) {
        const event = createEvent({ id: `e${index}`, timestamp, author: 'agent' });
        await service.appendEvent({ session, event });
      }
    }
    for (const config of [
      {},
      { numRecentEvents: 0 },
      { numRecentEvents: 2 },
      { numRecentEvents: 9 },
      { afterTimestamp: 20 },
      { afterTimestamp: 26 },
      { afterTimestamp: 5 },
      { afterTimestamp: 99 },
      { numRecentEvents: 3, afterTimestamp: 25 },
    ]) {
      const mine = await ours.getSession({ ...here, config });
      const adks = await theirs.getSession({ ...here, config });
      expect(stored(mine?.events)).toEqual(stored(adks?.events));
    }
    const part = await ours.getSession({ ...here, config: { numRecentEvents: 1 } });
    if (part === undefined) throw new Error('no session');
    await ours.appendEvent({ session: part, event: createEvent({ id: 'e0', timestamp: 40 }) });
    expect(part.events.map((event) => event.id)).toEqual(['e4', 'e0']);
    expect((await get(ours)).events.map((event) => event.id)).toEqual(['e0', 'e1', 'e2', 'e3', 'e4']);
  });

  test('sessions are listed in pages as ADK lists them, for one user', async () => {
    const clock = standingClock();
    const service = new StoreSessionService(createMemoryStore({ now: clock.now }));
    for (const [index, sessionId] of ['s1', 's2', 's3'].entries()) {
      clock.set(1_000 * (index + 1));
      await service.createSession({ ...here, sessionId });
    }
    const list = async (request: Partial<Parameters<StoreSessionService['listSessions']>[0]>) => {
      const { sessions, ...page } = await service.listSessions({
        appName: 'shop',
        userId: 'ann',
        ...request,
      });
      return [sessions.map((session) => session.id).join(), page];
    };
    const all = { page: 1, limit: 3, totalItems: 3, totalPages: 1 };
    expect(await list({})).toEqual(['s3,s2,s1', all]);
    expect(await list({ order: 'desc' })).toEqual(['s3,s2,s1', all]);
    expect(await list({ order: 'asc' })).toEqual(['s1,s2,s3', all]);
    expect(await list({ offset: 1 })).toEqual(['s2,s1', all]);
    expect(await list({ limit: 2 })).toEqual(['s3,s2', { page: 1, limit: 2, totalItems: 3, totalPages: 2 }]);
    expect(await list({ limit: 2, page: 2 })).toEqual([
      's1',
      { page: 2, limit: 2, totalItems: 3, totalPages: 2 },
    ]);
    expect(await list({ limit: 1, offset: 1, order: 'asc' })).toEqual([
      's2',
      { page: 2, limit: 1, totalItems: 3, totalPages: 3 },
    ]);
    expect(await list({ limit: 0 })).toEqual(['', { page: 1, limit: 0, totalItems: 3, totalPages: 0 }]);
    expect(await list({ userId: 'bob' })).toEqual(['', { page: 1, limit: 0, totalItems: 0, totalPages: 0 }]);
    await expect(service.listSessions({ appName: 'shop' })).rejects.toThrow(StoreError);
  });

  test('a read that a write overtakes is not kept ready', async () => {
    const store = createMemoryStore();
    const waiting: (() => void)[] = [];
    const slow: Store = {
      ...store,
      async loadSession(key) {
        const session = await store.loadSession(key);
        await new Promise<void>((resolve) => waiting.push(resolve));
        return session;
      },
    };
    const service = new StoreSessionService(slow);
    for (const change of [
      async () =>
        service.appendEvent({ session: asSession(), event: textEvent('e1', 'hi', { mood: 'glad' }) }),
      async () => service.createSession({ ...here, sessionId: 's2', state: { 'user:name': 'Ann' } }),
      async () => service.deleteSession(here),
    ]) {
      if ((await store.loadSession(keyOf('s1'))) === null) await store.createSession(keyOf('s1'), {});
      service.forget(keyOf('s1'));
      const early = service.getSession(here);
      await change();
      await Promise.resolve();
      waiting.shift()?.();
      await early;
      const late = service.getSession(here);
      await Promise.resolve();
      await Promise.resolve();
      waiting.shift()?.();
      const fresh = await store.loadSession(keyOf('s1'));
      expect((await late)?.state).toEqual(fresh?.state);
      expect((await late)?.events).toEqual(fresh?.events);
    }
  });

  test('a compactor of ADK that cuts the history cuts it for its own turn alone', async () => {
    const store = createMemoryStore();
    const service = new StoreSessionService(store);
    const session = await service.createSession(here);
    for (let index = 0; index < 6; index++) {
      await service.appendEvent({ session, event: textEvent(`e${index}`, `text ${index}`) });
    }
    const model = new ScriptedModel([{ content: { role: 'model', parts: [{ text: 'short' }] } }]);
    const agent = new LlmAgent({
      name: 'agent',
      model,
      contextCompactors: [new TruncatingContextCompactor({ threshold: 2 })],
    });
    const runner = new Runner({ appName: 'shop', agent, sessionService: service });
    for await (const _ of runner.runAsync({
      ...here,
      newMessage: { role: 'user', parts: [{ text: 'go' }] },
    }));
    expect(model.requests[0]?.contents).toHaveLength(2);
    expect((await get(service)).events).toHaveLength(8);
    expect((await store.loadSession(keyOf('s1')))?.events).toHaveLength(8);
  });

  describe('where other nodes write to the store as well', () => {
    /** A store as two nodes see it, and how often a session was read from it. */
    function ofNodes() {
      const store = createMemoryStore();
      const reads = { whole: 0, shared: 0 };
      const gates: Promise<void>[] = [];
      const shared: SharedStore = {
        ...store,
        nodes: {} as NodeDirectory,
        loadSession(key) {
          reads.whole++;
          return store.loadSession(key);
        },
        async sharedState(key) {
          reads.shared++;
          const all = (await store.loadSession(key))?.state ?? {};
          await gates.shift();
          const isShared = (name: string) => name.startsWith(prefixes.app) || name.startsWith(prefixes.user);
          return Object.fromEntries(Object.entries(all).filter(([name]) => isShared(name)));
        },
      };
      const node = () => new StoreSessionService(shared, undefined, undefined, shared);
      const own = async (service: StoreSessionService, id: string) => {
        const key = (await store.own(keyOf(id))) ?? raise();
        service.own(key);
        return key;
      };
      return { store, reads, gates, node, own };
    }
    test('an owner has its events ready, and sees what other nodes changed of the shared state', async () => {
      const { store, reads, node, own } = ofNodes();
      const [one, other] = [node(), node()];
      await store.createSession(keyOf('s1'), { mine: 1, 'user:name': 'Ann', 'user:old': true });
      await store.createSession(keyOf('s2'), {});
      const key = await own(one, 's1');
      await own(other, 's2');
      const session = await get(one);
      await one.appendEvent({ session, event: textEvent('e1', 'hi') });
      const elsewhere = (await other.getSession({ ...here, sessionId: 's2' })) ?? raise();
      const delta = { 'user:name': 'Bob', 'user:old': undefined, 'app:open': true };
      await other.appendEvent({ session: elsewhere, event: textEvent('e2', 'hi', delta) });
      reads.whole = 0;
      expect((await one.load(key))?.events).toHaveLength(1);
      expect(reads.whole + reads.shared).toBe(0);
      const current = (await store.loadSession(keyOf('s1')))?.state;
      expect((await get(one)).state).toEqual(current);
      expect((await one.load(key, { forTools: true }))?.state).toEqual(current);
      expect(reads).toEqual({ whole: 0, shared: 2 });
    });

    test('what another owner wrote is read, whoever asks under whichever fence', async () => {
      const { store, node, own } = ofNodes();
      const [one, other] = [node(), node()];
      await store.createSession(keyOf('s1'), {});
      await own(one, 's1');
      await get(one);
      await own(other, 's1');
      await other.appendEvent({ session: await get(other), event: textEvent('e1', 'hi') });
      const again = await own(one, 's1');
      expect((await one.load(again))?.events).toHaveLength(1);
    });

    test('a change of this node that overtakes the read of the shared state is not undone by it', async () => {
      const { store, gates, node, own } = ofNodes();
      const one = node();
      await store.createSession(keyOf('s1'), {});
      await store.createSession(keyOf('s2'), {});
      const key = await own(one, 's1');
      await own(one, 's2');
      await get(one);
      const beside = (await one.getSession({ ...here, sessionId: 's2' })) ?? raise();
      let open = () => {};
      gates.push(
        new Promise<void>((resolve) => {
          open = resolve;
        }),
      );
      const early = get(one);
      await one.appendEvent({ session: beside, event: textEvent('e1', 'hi', { 'user:name': 'Ann' }) });
      open();
      expect((await early).state).toEqual({ 'user:name': 'Ann' });
      expect((await one.load(key))?.state).toEqual({ 'user:name': 'Ann' });
    });
  });

  test('a session is ready for its first owner, with what others changed meanwhile, and is read by the next', async () => {
    const store = createMemoryStore();
    const reads: string[] = [];
    const made: (() => void)[] = [];
    const slow: Store = {
      ...store,
      async createSession(key, state) {
        const session = await store.createSession(key, state);
        await new Promise<void>((resolve) => made.push(resolve));
        return session;
      },
      async loadSession(key) {
        reads.push(key.id);
        return store.loadSession(key);
      },
    };
    const service = new StoreSessionService(slow);
    await store.createSession(keyOf('other'), {});
    const session = (await service.getSession({ ...here, sessionId: 'other' })) ?? raise();
    const rename = (id: string, name: string) =>
      service.appendEvent({ session, event: textEvent(id, 'hi', { 'user:name': name }) });
    const create = async (id: string) => {
      const creating = service.create(keyOf(id), async () => {
        const session = await slow.createSession(keyOf(id), {});
        return { key: await own(id), session };
      });
      await Promise.resolve();
      return () => {
        made.shift()?.();
        return creating;
      };
    };
    const own = async (id: string) => (await store.own(keyOf(id))) ?? raise();
    reads.length = 0;

    const first = await (await create('s1'))();
    await rename('e1', 'Ann');
    expect((await service.load(first))?.state).toEqual({ 'user:name': 'Ann' });
    expect(reads).toEqual([]);

    const done = await create('s2');
    await rename('e2', 'Bob');
    const second = await done();
    expect((await service.load(second))?.state).toEqual({ 'user:name': 'Bob' });
    expect(reads).toEqual(['s2']);

    // What was ready of one that is gone is not its follower's.
    const gone = await service.load(second);
    if (gone) await service.appendEvent({ session: gone, event: textEvent('e3', 'before') });
    await store.deleteSession(second);
    const again = await create('s2');
    await rename('e4', 'Bob');
    const follower = await again();
    expect((await service.load(follower))?.events).toEqual([]);
    reads.length = 0;

    const next = await own('s1');
    service.own(next);
    expect((await service.load(next))?.state).toEqual({ 'user:name': 'Bob' });
    expect(reads).toEqual(['s1']);
  });

  test('messages and events of a session are deleted together', async () => {
    const store = createMemoryStore();
    const service = new StoreSessionService(store);
    await service.createSession(here);
    await store.putMessage(keyOf('s1'), messageOf('m1', 'hi'));
    await service.deleteSession(here);
    expect(await store.loadMessages(keyOf('s1'))).toEqual([]);
    await service.deleteSession(here);
  });
});

function asAdk(request: typeof here) {
  return { appName: request.appName, userId: request.userId, id: request.sessionId };
}

function asSession(): Session {
  return { ...asAdk(here), state: {}, events: [], lastUpdateTime: 0 };
}

async function get(service: BaseSessionService): Promise<Session> {
  const session = await service.getSession(here);
  if (session === undefined) throw new Error('There is no session.');
  return session;
}

function raise(): never {
  throw new Error('There is no such session.');
}

function entriesOf(state: Record<string, unknown>): [string, unknown][] {
  return Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Two turns: one with two tool calls that write state of every reach, one that answers. */
async function talk(service: BaseSessionService) {
  const shop = new FunctionTool({
    name: 'buy',
    description: 'Buys a thing.',
    parameters: z.object({ thing: z.string() }),
    execute: ({ thing }, context) => {
      context?.state.set('bought', thing);
      context?.state.set('app:sold', thing);
      context?.state.set('user:likes', [thing]);
      context?.state.set('temp:note', 'gone');
      return { ok: true, note: context?.state.get('temp:note') };
    },
  });
  const call = (id: string, thing: string) => ({ functionCall: { id, name: 'buy', args: { thing } } });
  const say = (text: string) => ({ content: { role: 'model', parts: [{ text }] } });
  const model = new ScriptedModel([
    { content: { role: 'model', parts: [{ text: 'Let me see.' }, call('c1', 'tea'), call('c2', 'milk')] } },
    { content: { role: 'model', parts: [call('c3', 'sugar')] } },
    say('Bought.'),
    say('You are welcome.'),
  ]);
  const agent = new LlmAgent({ name: 'agent', model, tools: [shop], outputKey: 'answer' });
  const runner = new Runner({ appName: 'shop', agent, sessionService: service });
  await service.createSession({ ...here, state: { mood: 'calm' } });
  const events: Event[] = [];
  for (const text of ['buy tea', 'thanks']) {
    for await (const event of runner.runAsync({ ...here, newMessage: { role: 'user', parts: [{ text }] } })) {
      events.push(event);
    }
  }
  const asked = model.requests.map((request) => request.contents);
  return {
    events: normaliseEvents(events),
    asked: stored(asked),
    session: normalised(await service.getSession(here)),
  };
}

function normalised(session: Session | undefined) {
  if (session === undefined) return undefined;
  return { ...stored(session), lastUpdateTime: 0, events: normaliseEvents(session.events) };
}

/** Ids by order of appearance, and no times. */
function normaliseEvents(events: Event[]): unknown[] {
  const names = new Map<string, string>();
  const nameOf = (id: string) => {
    const name = names.get(id) ?? `id ${names.size}`;
    names.set(id, name);
    return name;
  };
  return events.map((event) => {
    return { ...stored(event), id: nameOf(event.id), invocationId: nameOf(event.invocationId), timestamp: 0 };
  });
}
