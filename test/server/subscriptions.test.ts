import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import {
  createDuologue,
  createMemoryStore,
  type DeliveryInfo,
  type DuologueOptions,
  type EventSubscription,
  type ServerEvent,
  type ServerEventName,
  type Store,
} from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { FakeTime, type ScriptTurn, scriptModel, testClient } from '../../src/testing/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { deadNodeSuite, eventNodesSuite } from './support/event-nodes.ts';
import { folderOfItsOwn, start } from './support/server-process.ts';

setLogLevel(LogLevel.ERROR);

const USER = 'live_user';
const PAY: ScriptTurn = { call: 'pay', args: { amount: 5 }, id: 'call-1' };
const ALL: ServerEventName[] = [
  ...(['session-created', 'session-deleted', 'turn-started', 'turn-finished'] as const),
  ...(['approval-requested', 'approval-decided', 'tool-finished'] as const),
];
const TURNS = ['turn-started', 'turn-finished'] as const;

/** A server with a tool that asks, its log, and its events in the order in which they happened. */
function server(
  store: Store,
  time: FakeTime,
  turns: readonly ScriptTurn[],
  more: Partial<DuologueOptions> = {},
) {
  const log: [text: string, fields: Record<string, unknown>][] = [];
  const note = (text: string, fields: Record<string, unknown> = {}) => log.push([text, fields]);
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => ({ paid: amount }),
  });
  const duologue = createDuologue({
    agent: new LlmAgent({ name: 'assistant', model: scriptModel(turns), tools: [pay] }),
    logger: { info() {}, warn: note, error: note },
    ...{ store, clock: time, ...more },
  });
  onTestFinished(() => duologue.close());
  const happened: ServerEvent[] = [];
  for (const name of ALL) duologue.on(name, (event) => happened.push(event));
  return { duologue, log, happened };
}

/** Resolves when something holds. Nothing sleeps: what has to happen needs no time. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setImmediate();
}

const stores: [string, (now: () => number) => Promise<Store>][] = [
  ['memory', async (now) => createMemoryStore({ now })],
  ['sqlite', (now) => openSqliteStore(temporaryFolder(), { now })],
];

describe.each(stores)('a subscription, in the %s store', (_, open) => {
  /** A server whose subscription `billing` keeps what it gets; `deliver` may fail. */
  async function subscribed(
    turns: readonly ScriptTurn[],
    subscription: Partial<EventSubscription<ServerEventName>> = {},
  ) {
    const time = new FakeTime();
    const store = await open(() => time.now());
    const one = server(store, time, turns);
    const delivered: [ServerEvent, number][] = [];
    const { deliver, ...rest } = subscription;
    const end = one.duologue.subscribe({
      name: 'billing',
      events: ALL,
      ...rest,
      deliver: (event, info) => {
        delivered.push([event, info.attempt]);
        return deliver?.(event, info);
      },
    });
    return { ...one, store, time, delivered, end };
  }

  it('gets each event once, as listeners get it and in the same order, and nothing is left', async () => {
    const { duologue, happened, delivered, store } = await subscribed([PAY, 'Paid.']);
    const chat = testClient(duologue);
    await chat.say('Pay');
    await chat.approve();
    await duologue.sessions.delete({ user: USER, id: chat.session });
    await until(() => delivered.length === 7);
    expect(happened.map(({ name }) => name)).toEqual([
      'session-created',
      'turn-started',
      'approval-requested',
      'approval-decided',
      'tool-finished',
      'turn-finished',
      'session-deleted',
    ]);
    expect(delivered).toEqual(happened.map((event) => [event, 1]));
    for (let round = 0; round < 20; round++) await setImmediate();
    const claim = { leaseMs: 1, queues: 9, events: 9 };
    expect(await store.claimEvents('duologue', 'billing', claim)).toEqual([]);
  });

  it('a turn that the user leaves is kept too', async () => {
    const { duologue, delivered } = await subscribed([PAY, 'Hello.'], { events: ['turn-finished'] });
    const chat = testClient(duologue);
    await chat.say('Pay');
    await chat.say('Hi');
    await until(() => delivered.length === 2);
    expect(delivered).toMatchObject([
      [{ outcome: 'interrupted' }, 1],
      [{ outcome: 'complete' }, 1],
    ]);
  });

  it('tries an event again after growing pauses, with the same id, while those of other sessions are delivered', async () => {
    let failures = 3;
    const { duologue, delivered, time, happened, log } = await subscribed(['One.', 'Two.', 'Three.'], {
      events: TURNS,
      deliver: ({ session }) => {
        if (session.id === 'bad' && failures-- > 0) throw new Error('The service is down.');
      },
    });
    await testClient(duologue, { session: 'bad' }).say('Hi');
    await testClient(duologue, { session: 'good' }).say('Hi');
    await until(() => delivered.length === 3);
    const tries = () => delivered.filter(([{ session }]) => session.id === 'bad');
    for (const [count, pause] of [
      [2, 1000],
      [3, 2000],
    ] as const) {
      await until(
        () => log.filter(([text]) => text.startsWith('an event was not delivered')).length === count - 1,
      );
      for (let round = 0; round < 20; round++) await setImmediate();
      time.advance(pause - 1);
      for (let round = 0; round < 20; round++) await setImmediate();
      expect(tries()).toHaveLength(count - 1);
      time.advance(1);
      await until(() => tries().length === count);
    }
    for (let round = 0; round < 20; round++) await setImmediate();
    time.advance(4000);
    await until(() => tries().length === 5);
    const [begun, ended] = happened.filter(
      ({ session, name }) => session.id === 'bad' && name.startsWith('turn'),
    );
    expect(tries()).toEqual([
      [begun, 1],
      [begun, 2],
      [begun, 3],
      [begun, 4],
      [ended, 1],
    ]);
    expect(log).toMatchObject(
      [1000, 2000, 4000].map((retryMs, index) => [
        'an event was not delivered: it is tried again, and later events of its session wait',
        { subscription: 'billing', event: 'turn-started', id: begun?.id, attempt: index + 1, retryMs },
      ]),
    );
  });

  it('a delivery that takes too long is aborted, and tried again', async () => {
    const infos: DeliveryInfo[] = [];
    const { duologue, delivered, time } = await subscribed(['One.'], {
      events: ['turn-finished'],
      timeoutMs: 500,
      deliver: (_event, info) => {
        infos.push(info);
        return info.attempt === 1 ? new Promise(() => undefined) : undefined;
      },
    });
    await testClient(duologue).say('Hi');
    await until(() => delivered.length === 1);
    expect(infos[0]?.signal.aborted).toBe(false);
    time.advance(500);
    expect(infos[0]?.signal.aborted).toBe(true);
    while (delivered.length < 2) {
      await setImmediate();
      time.advance(100);
    }
    expect(delivered[1]).toEqual([delivered[0]?.[0], 2]);
  });

  it('a delivery may take longer than a claim lasts, because the claim is renewed', async () => {
    let end = (): void => undefined;
    const { duologue, delivered, time, store } = await subscribed(['One.'], {
      events: ['turn-finished'],
      timeoutMs: 600_000,
      deliver: () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    });
    await testClient(duologue).say('Hi');
    await until(() => delivered.length === 1);
    for (let second = 0; second < 90; second += 5) {
      time.advance(5000);
      for (let round = 0; round < 10; round++) await setImmediate();
    }
    expect(await store.claimEvents('duologue', 'billing', { leaseMs: 1, queues: 9, events: 9 })).toEqual([]);
    end();
    for (let round = 0; round < 20; round++) await setImmediate();
    time.advance(60_000);
    for (let round = 0; round < 20; round++) await setImmediate();
    expect(delivered).toHaveLength(1);
  });

  it('discards events that are too old, and all but the newest, and says so', async () => {
    const { duologue, delivered, time, log } = await subscribed(['One.', 'Two.', 'Three.'], {
      events: ['turn-finished'],
      keepForMs: 3600_000,
      maxEvents: 2,
      deliver: () => {
        throw new Error('The service is down.');
      },
    });
    for (const session of ['a', 'b', 'c']) await testClient(duologue, { session }).say('Hi');
    await until(() => delivered.length === 3);
    const discarded = () =>
      log.flatMap(([text, { count }]) =>
        text.startsWith('events of a subscription were discarded') ? [count] : [],
      );
    while (discarded().length < 1) {
      time.advance(5000);
      await setImmediate();
    }
    expect(discarded()).toEqual([1]);
    time.advance(3600_000);
    while (discarded().length < 2) {
      time.advance(5000);
      await setImmediate();
    }
    expect(discarded()).toEqual([1, 2]);
  });

  it('nothing is kept without a subscription, for names that it does not want, or after its end', async () => {
    const time = new FakeTime();
    const store = await open(() => time.now());
    const kept: unknown[] = [];
    const watched = new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => {
          if (
            /^(create|delete)Session$|^(append|keep)Event|^putMessage$|^(move|decide)Call$/.test(String(name))
          ) {
            const last = args.at(-1);
            if (Array.isArray(last) && last.length > 0) kept.push(...last);
          }
          if (/Claim|claim|trim/.test(String(name))) kept.push(name);
          return Reflect.apply(method, target, args) as unknown;
        };
      },
    });
    const { duologue } = server(watched, time, [PAY, 'Paid.', 'Hello.', 'Bye.']);
    const chat = testClient(duologue);
    await chat.say('Pay');
    await chat.approve();
    time.advance(3600_000);
    expect(kept).toEqual([]);
    const end = duologue.subscribe({
      name: 'deleted',
      events: ['session-deleted'],
      deliver: () => undefined,
    });
    await chat.say('Hi');
    await end();
    kept.length = 0;
    await chat.say('Hi');
    await duologue.sessions.delete({ user: USER, id: chat.session });
    expect(kept).toEqual([]);
  });
});

it('a server that closes gives its events back, so that the next one delivers them at once', async () => {
  const folder = temporaryFolder();
  const time = new FakeTime();
  const now = () => time.now();
  const first = server(await openSqliteStore(folder, { now }), time, ['Hello.']);
  const aborted: string[] = [];
  let isDelivering = false;
  first.duologue.subscribe({
    name: 'billing',
    events: ALL,
    deliver: (event, { signal }) => {
      isDelivering = true;
      signal.addEventListener('abort', () => aborted.push(event.name));
      return new Promise(() => undefined);
    },
  });
  await testClient(first.duologue).say('Hi');
  await until(() => isDelivering);
  await first.duologue.close();
  expect(aborted).toEqual(['session-created']);
  const second = server(await openSqliteStore(folder, { now }), time, []);
  const delivered: ServerEvent[] = [];
  second.duologue.subscribe({ name: 'billing', events: ALL, deliver: (event) => delivered.push(event) });
  await until(() => delivered.length === first.happened.length);
  expect(delivered).toEqual(first.happened);
});

it('what a killed process had stored and not delivered is delivered after it, with the same ids', async () => {
  const folder = folderOfItsOwn();
  const program = fileURLToPath(new URL('./support/outbox-server.ts', import.meta.url));
  const killed = await start(folder, '', program);
  await killed.wrote('answered');
  await killed.wrote('delivering');
  await killed.kill();
  const happened = killed.lines.flatMap((line) =>
    line.startsWith('happened') ? [line.split(' ').slice(1)] : [],
  );
  expect(happened.map(([name]) => name)).toEqual(['session-created', 'turn-started', 'turn-finished']);
  const next = server(await openSqliteStore(folder), new FakeTime(), []);
  const delivered: ServerEvent[] = [];
  next.duologue.subscribe({ name: 'billing', events: ALL, deliver: (event) => delivered.push(event) });
  await until(() => delivered.length === 3);
  expect(delivered.map(({ name, id }) => [name, id])).toEqual(happened);
  expect(killed.lines.filter((line) => line.startsWith('delivering'))).toEqual([
    `delivering ${happened[0]?.[1]}`,
  ]);
});

describe('two nodes on one store', () => {
  const shared = new WeakMap<() => number, Store>();
  const open = async (now: () => number) => {
    const store = shared.get(now) ?? createMemoryStore({ now });
    shared.set(now, store);
    return store;
  };
  eventNodesSuite(open);
  deadNodeSuite(open);
});

it('what is no subscription is refused in words', () => {
  const { duologue } = server(createMemoryStore(), new FakeTime(), []);
  const good = { name: 'billing', events: TURNS, deliver: () => undefined };
  const given = (change: object) => () => duologue.subscribe({ ...good, ...change });
  expect(given({ name: '' })).toThrow('subscribe needs "name", a text of 1 to 128 characters.');
  expect(given({ events: [] })).toThrow('subscribe needs "events", a list of the names of events.');
  expect(given({ events: ['turn-ended'] })).toThrow(
    'There is no event "turn-ended". There are: session-created, ',
  );
  expect(given({ deliver: 'https://billing.example' })).toThrow('subscribe needs "deliver", a function.');
  const unbounded = [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null, 1e12];
  for (const [field, largest] of Object.entries({
    timeoutMs: 86_400_000,
    keepForMs: 31_622_400_000,
    maxEvents: 10_000_000,
  }))
    for (const value of unbounded)
      expect(given({ [field]: value })).toThrow(
        `subscribe needs "${field}" to be a whole number from 1 to ${largest}.`,
      );
  expect(given({ retries: 3 })).toThrow('subscribe has no option "retries".');
  given({})();
  expect(given({})).toThrow('There is a subscription "billing" already.');
});
