import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { type Duologue, StoreUnavailable } from '../../src/server/index.ts';
import { Fitness, type NodeEngine } from '../../src/server/nodes/fitness.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, say } from '../support/harness.ts';
import { MemoryHub, SharedMemory } from '../support/memory-hub.ts';
import { MemoryDatabase } from '../support/memory-nodes.ts';
import { text } from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';

const SILENT = { info() {}, warn() {}, error() {} };
const opened: Duologue[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

async function pass(clock: ManualClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1000);
    await settled();
  }
}

function startNode() {
  const clock = new ManualClock();
  const store = new MemoryDatabase(clock).open();
  let fault: string | null = null;
  const memory = new SharedMemory();
  const hub = Object.assign(new MemoryHub(memory), { fault: () => fault });
  const server = harness([[text('Hello.')]], [], {
    ...{ store, hub, clock, newId: randomUUID },
    node: { address: 'http://127.0.0.1:1', leaseMs: 5000 },
  });
  opened.push(server.duologue);
  const setFault = (text: string | null) => {
    fault = text;
    memory.isAway = text !== null;
  };
  const health = async () => {
    const response = await server.get('/health');
    return [response.status, await response.json()];
  };
  return { clock, store, server, health, setFault };
}

describe('a node that cannot reach an engine', () => {
  it('says so in its health within the lease, refuses at once and for a moment, and is well again with its store', async () => {
    const { clock, store, server, health } = startNode();
    await server.post(say('hi'));
    expect(await health()).toEqual([200, { status: 'ok' }]);
    store.fail = () => new StoreUnavailable('The store is away.');
    await pass(clock, 5);
    expect(await health()).toEqual([503, { status: 'unavailable', away: ['store'] }]);
    for (const id of ['chat-1', 'another']) {
      const { status, json, headers } = await server.post(say('more', id, 'second'));
      expect([status, json]).toEqual([
        503,
        { error: expect.objectContaining({ code: 'overloaded', retryable: true }) },
      ]);
      expect(headers.get('retry-after')).toBe('2');
    }
    store.fail = null;
    await pass(clock, 2);
    expect(await health()).toEqual([200, { status: 'ok' }]);
  });

  it('reports its hub as away after longer than a restart takes, and opens no conversation until the hub is back', async () => {
    const { clock, server, health, setFault } = startNode();
    setFault('The memory of Redis is full.');
    await pass(clock, 1);
    // Other nodes, which may have lost the same hub a moment before, move nothing here.
    const early = await server.get('/health');
    expect([early.status, early.headers.get('x-duologue-troubled')]).toEqual([200, 'yes']);
    await pass(clock, 3);
    expect(await health()).toEqual([503, { status: 'unavailable', away: ['hub'] }]);
    expect((await server.post(say('hi'))).status).toBe(503);
    setFault(null);
    await pass(clock, 2);
    const late = await server.get('/health');
    expect([late.status, late.headers.get('x-duologue-troubled')]).toEqual([200, null]);
    expect((await server.post(say('hi'))).status).toBe(200);
  });
});

it('a node that ends while its store does not answer ends all the same, soon', async () => {
  const { clock, store, server } = startNode();
  await server.post(say('hi'));
  opened.pop();
  store.cut();
  let hasEnded = false;
  const ending = server.duologue.close().then(() => {
    hasEnded = true;
  });
  // What it hands over within 20 seconds, what it interrupts, and what it waits for the store.
  await pass(clock, 30);
  expect(hasEnded).toBe(true);
  await ending;
});

describe('a node that is unfit', () => {
  const a = { name: 'a', address: 'http://a' };
  const b = { name: 'b', address: 'http://b' };

  function judge(others: () => { name: string; address: string }[]) {
    const clock = new ManualClock();
    const state = { isStoreAway: false, hubFault: null as string | null, fit: [] as string[] };
    const moves: (readonly NodeEngine[])[] = [];
    const fitness = new Fitness({
      clock,
      logger: SILENT,
      isStoreAway: () => state.isStoreAway,
      hubFault: () => state.hubFault,
      others,
      isFit: async ({ name }) => state.fit.includes(name),
      onUnfit: (away) => moves.push(away),
    });
    return { clock, state, moves, fitness };
  }

  it('moves its conversations once, when another node is fit, and stops when it is fit again', async () => {
    const { clock, state, moves, fitness } = judge(() => [a, b]);
    state.isStoreAway = true;
    await pass(clock, 3);
    // No other node can reach the engine: everything stays.
    expect([fitness.refuge, moves]).toEqual([null, []]);
    state.fit = ['b'];
    await pass(clock, 3);
    expect([fitness.refuge, moves]).toEqual([b, [['store']]]);
    state.isStoreAway = false;
    await pass(clock, 1);
    expect([fitness.refuge, fitness.away]).toEqual([null, []]);
    fitness.close();
    expect(clock.pending).toBe(0);
  });

  it('is not one because its hub restarts', async () => {
    const { clock, state, moves, fitness } = judge(() => [a]);
    state.fit = ['a'];
    state.hubFault = 'No Redis answers.';
    await pass(clock, 2);
    state.hubFault = null;
    await pass(clock, 5);
    expect(moves).toEqual([]);
    fitness.close();
  });
});
