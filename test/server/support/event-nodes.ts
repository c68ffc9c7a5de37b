import { setImmediate } from 'node:timers/promises';
import { LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  createDuologue,
  type DeliveryInfo,
  type Duologue,
  type ServerEvent,
  type Store,
} from '../../../src/server/index.ts';
import { FakeTime, scriptModel, testClient } from '../../../src/testing/index.ts';

setLogLevel(LogLevel.ERROR);

interface Node {
  duologue: Duologue;
  time: FakeTime;
  /** The events that this node was given to deliver, with the attempts. */
  delivered: [ServerEvent, number][];
}

/** A node with the subscription `billing`. Its own timers pass only when a test says so: a node whose time stands still is as good as dead. */
function startNode(store: Store, deliver: () => unknown = () => undefined): Node {
  const time = new FakeTime();
  const logger = { info() {}, warn() {}, error() {} };
  const model = scriptModel(Array.from({ length: 12 }, () => 'Hello.'));
  const duologue = createDuologue({
    agent: new LlmAgent({ name: 'assistant', model }),
    ...{ store, logger, clock: time },
  });
  onTestFinished(() => duologue.close());
  const delivered: Node['delivered'] = [];
  duologue.subscribe({
    name: 'billing',
    events: ['session-created', 'turn-started', 'turn-finished'],
    deliver: (event, { attempt }: DeliveryInfo) => {
      delivered.push([event, attempt]);
      return deliver();
    },
  });
  return { duologue, time, delivered };
}

/** The events of each session, in the order in which they happened or were delivered. */
function bySession(events: readonly ServerEvent[]): Record<string, string[]> {
  const ids: Record<string, string[]> = {};
  for (const { session, id } of events) ids[session.id] = [...(ids[session.id] ?? []), id];
  return ids;
}

/** Waits as long as the store needs for a read, so that the time of a node does not run ahead of its writes: days would pass, and its events would be too old. */
async function aRead(store: Store): Promise<void> {
  await store.findSession({ app: 'none', user: 'none', id: 'none' });
  await setImmediate();
}

/** Two nodes on one store, and their subscription. `open` opens the store of a node; its times come from `now`. */
export function eventNodesSuite(open: (now: () => number) => Promise<Store>): void {
  it('each event is delivered by one node, and the events of a session in order', async () => {
    const now = () => 1_700_000_000_000;
    const first = startNode(await open(now));
    const store = await open(now);
    const second = startNode(store);
    const happened: ServerEvent[] = [];
    for (const { duologue } of [first, second]) {
      for (const name of ['session-created', 'turn-started', 'turn-finished'] as const)
        duologue.on(name, (event) => happened.push(event));
    }
    const talk = async ({ duologue }: Node, session: string) => {
      const chat = testClient(duologue, { session });
      for (const text of ['one', 'two', 'three']) await chat.say(text);
    };
    await Promise.all([talk(first, 'a'), talk(first, 'b'), talk(second, 'c'), talk(second, 'd')]);
    const delivered = () => [...first.delivered, ...second.delivered];
    while (delivered().length < 4 * 7) {
      for (const { time } of [first, second]) time.advance(5000);
      await aRead(store);
    }
    const whole = bySession(happened);
    expect(Object.values(whole).map(({ length }) => length)).toEqual([7, 7, 7, 7]);
    // Each session is delivered in order, whichever node delivers which of its events.
    const seen = [...first.delivered, ...second.delivered].map(([event]) => event.id);
    expect(new Set(seen).size).toBe(4 * 7);
    for (const { delivered: own } of [first, second]) {
      for (const [session, ids] of Object.entries(bySession(own.map(([event]) => event))))
        expect(ids).toEqual(whole[session]?.filter((id) => ids.includes(id)));
    }
    expect(delivered().map(([, attempt]) => attempt)).toEqual(seen.map(() => 1));
  });
}

/** A node that dies while it delivers. */
export function deadNodeSuite(open: (now: () => number) => Promise<Store>): void {
  it('the events that a dead node was delivering are delivered by another, with the same ids, in order', async () => {
    let at = 1_700_000_000_000;
    const now = () => at;
    let end = (): void => undefined;
    const first = startNode(
      await open(now),
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    const happened: ServerEvent[] = [];
    for (const name of ['session-created', 'turn-started', 'turn-finished'] as const)
      first.duologue.on(name, (event) => happened.push(event));
    const chat = testClient(first.duologue, { session: 'taken over' });
    await chat.say('one');
    while (first.delivered.length === 0) await setImmediate();
    // The second node starts only now. A node claims events as soon as it starts: it could get the first event before the first node does.
    at += 29_999;
    const store = await open(now);
    const claims = vi.spyOn(store, 'claimEvents');
    const second = startNode(store);
    while (claims.mock.results.length === 0) await setImmediate();
    expect(await claims.mock.results[0]?.value).toEqual([]);
    at += 1;
    while (second.delivered.length < 3) {
      second.time.advance(5000);
      await aRead(store);
    }
    expect(second.delivered.map(([{ id }, attempt]) => [id, attempt])).toEqual(
      happened.map(({ id }, index) => [id, index === 0 ? 2 : 1]),
    );
    // The first node comes back: what it had claimed is no longer its own.
    end();
    for (let round = 0; round < 20; round++) await setImmediate();
    expect(first.delivered.map(([{ id }]) => id)).toEqual([happened[0]?.id]);
  });
}
