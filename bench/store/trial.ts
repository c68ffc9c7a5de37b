import { createHash } from 'node:crypto';
import { join } from 'node:path';
import * as adk from '@google/adk';
import { DatabaseSessionService } from 'adk-with-database';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { StoreSessionService } from '../../src/server/store/adk-sessions.ts';

type BaseSessionService = adk.BaseSessionService;
type Event = adk.Event;

/** Milliseconds of one repetition, per operation. */
interface Sample {
  wall: number;
  cpu: number;
}

/** Samples by measure and variant; those of one index were taken in one repetition. */
export type Samples = Record<string, Record<string, Sample[]>>;

const WARM_UPS = 2;
const REPETITIONS = 9;
const APPENDS = 60;
/** Fast variants fill this many sessions per repetition, because one alone is too short to measure. */
const QUICK = 10;
const LOADS = 3;
const TURNS = 15;
const long = { appName: 'bench', userId: 'ann', sessionId: 'long' };

/** The methods of a session service that the benchmark calls. */
type Sessions = Pick<BaseSessionService, 'createSession' | 'getSession' | 'appendEvent'>;

/** Loaded from a second copy of the same ADK version, installed with the database packages that this service needs. */
function openAdkDatabase(folder: string): Sessions {
  return new DatabaseSessionService(`sqlite://${join(folder, 'adk.db')}`) as unknown as Sessions;
}

/** Writes the same long session to both databases. */
export async function fill(folder: string): Promise<void> {
  const store = await openSqliteStore(join(folder, 'ours'));
  for (const service of [new StoreSessionService(store), openAdkDatabase(folder)] as Sessions[]) {
    const session = await service.createSession(long);
    for (let index = 0; index < 5_000; index++) {
      // ADK's service copies the state and searches the events of the given session: an empty copy keeps filling fast.
      await service.appendEvent({
        session: { ...session, events: [], lastUpdateTime: Infinity },
        event: eventOf(index),
      });
    }
  }
  await store.close();
}

/** The measurements of one process. */
export async function runTrial(folder: string): Promise<Samples> {
  const store = await openSqliteStore(join(folder, 'ours'));
  const database = openAdkDatabase(folder);
  const samples: Samples = {
    append: await measureAppends({
      ours: new StoreSessionService(store),
      'ours-again': new StoreSessionService(store),
      'adk-database': database,
      'adk-memory': new adk.InMemorySessionService(),
    }),
    'load-5000': await measureLoads({
      ours: () => new StoreSessionService(store),
      'ours-again': () => new StoreSessionService(store),
      'ours-ready': one(new StoreSessionService(store)),
      'adk-database': one(database),
    }),
    'turn-start-1000': await measureTurnStarts({
      ours: new StoreSessionService(store),
      'adk-memory': new adk.InMemorySessionService(),
      'adk-memory-again': new adk.InMemorySessionService(),
    }),
  };
  await store.close();
  return samples;
}

/** The appends of a session's first events, each acknowledged before the next. */
async function measureAppends(variants: Record<string, Sessions>): Promise<Record<string, Sample[]>> {
  const seen = new Map<string, string>();
  const samples = await interleave(Object.keys(variants), async (name, repetition, measure) => {
    const service = pick(variants, name);
    const request = { ...long, sessionId: '' };
    for (let round = 0; round < (name === 'adk-database' ? 1 : QUICK); round++) {
      request.sessionId = `append ${name} ${repetition} ${round}`;
      const session = await service.createSession(request);
      const events = Array.from({ length: APPENDS }, (_, index) => eventOf(index));
      await measure(APPENDS, async () => {
        for (const event of events) await service.appendEvent({ session, event });
      });
    }
    seen.set(name, digest((await service.getSession(request))?.events));
  });
  assertSame(seen);
  return samples;
}

/** Getting a session of 5,000 events. */
async function measureLoads(variants: Record<string, () => Sessions>): Promise<Record<string, Sample[]>> {
  const seen = new Map<string, string>();
  const samples = await interleave(Object.keys(variants), async (name, _repetition, measure) => {
    const open = pick(variants, name);
    let events: Event[] | undefined;
    await measure(LOADS, async () => {
      for (let index = 0; index < LOADS; index++) events = (await open().getSession(long))?.events;
    });
    if (events?.length !== 5_000) throw new Error(`${name} gave ${events?.length} of 5,000 events.`);
    seen.set(name, digest(events));
  });
  assertSame(seen);
  return samples;
}

/** From the user's message to the agent's first event, in a session of 1,000 events. */
async function measureTurnStarts(variants: Record<string, Sessions>): Promise<Record<string, Sample[]>> {
  const request = { ...long, sessionId: 'turns' };
  const runners: Record<string, adk.Runner> = {};
  for (const [name, service] of Object.entries(variants)) {
    const session = await service.createSession(request);
    for (let index = 0; index < 1_000; index++) await service.appendEvent({ session, event: eventOf(index) });
    const agent = new adk.LlmAgent({ name: 'agent', model: new QuickModel() });
    runners[name] = new adk.Runner({
      appName: 'bench',
      agent,
      sessionService: service as BaseSessionService,
    });
  }
  const newMessage = { role: 'user', parts: [{ text: 'and then?' }] };
  return interleave(Object.keys(variants), async (name, _repetition, measure) => {
    const runner = pick(runners, name);
    for (let index = 0; index < TURNS; index++) {
      const turn = runner.runAsync({ ...request, newMessage });
      await measure(1, async () => {
        if ((await turn.next()).done) throw new Error('The turn gave nothing.');
      });
      for await (const _ of turn);
    }
  });
}

type Measure = (operations: number, work: () => Promise<void>) => Promise<void>;

/** Runs all variants in every repetition, each time in another order, and returns the time per operation. */
async function interleave(
  names: string[],
  run: (name: string, repetition: number, measure: Measure) => Promise<void>,
): Promise<Record<string, Sample[]>> {
  const samples: Record<string, Sample[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (let repetition = 0; repetition < WARM_UPS + REPETITIONS; repetition++) {
    const first = (repetition >> 1) % names.length;
    const order = [...names.slice(first), ...names.slice(0, first)];
    if (repetition % 2 === 1) order.reverse();
    for (const name of order) {
      let done = 0;
      const total: Sample = { wall: 0, cpu: 0 };
      await run(name, repetition, async (operations, work) => {
        const cpu = process.cpuUsage();
        const start = performance.now();
        await work();
        total.wall += performance.now() - start;
        const used = process.cpuUsage(cpu);
        total.cpu += (used.user + used.system) / 1_000;
        done += operations;
      });
      if (repetition >= WARM_UPS) {
        pick(samples, name).push({ wall: total.wall / done, cpu: total.cpu / done });
      }
    }
  }
  return samples;
}

/** Texts, calls and answers as in a chat; every tenth event changes the state. */
function eventOf(index: number): Event {
  const text = `Event ${index}: ${'the quick brown fox jumps over the lazy dog. '.repeat(4)}`;
  const call = { id: `call ${index}`, name: 'search', args: { query: text.slice(0, 40), limit: 5 } };
  const answer = { id: `call ${index - 1}`, name: 'search', response: { hits: [text, text] } };
  const part =
    index % 10 === 3 ? { functionCall: call } : index % 10 === 4 ? { functionResponse: answer } : { text };
  return {
    id: `event-${index}`,
    invocationId: `invocation-${Math.floor(index / 4)}`,
    author: index % 2 === 0 ? 'user' : 'agent',
    timestamp: 1_700_000_000_000 + index,
    content: { role: index % 2 === 0 ? 'user' : 'model', parts: [part] },
    actions: {
      stateDelta: index % 10 === 5 ? { step: index, note: text } : {},
      artifactDelta: {},
      requestedAuthConfigs: {},
      requestedToolConfirmations: {},
    },
    longRunningToolIds: [],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 },
  };
}

class QuickModel extends adk.BaseLlm {
  constructor() {
    super({ model: 'quick' });
  }

  override async *generateContentAsync(): AsyncGenerator<adk.LlmResponse, void> {
    yield { content: { role: 'model', parts: [{ text: 'Then it slept.' }] } };
  }

  override async connect(): Promise<adk.BaseLlmConnection> {
    throw new Error('There is no live connection.');
  }
}

function one<T>(value: T): () => T {
  return () => value;
}

function pick<T>(record: Record<string, T>, name: string): T {
  const value = record[name];
  if (value === undefined) throw new Error(`There is no ${name}.`);
  return value;
}

function digest(events: Event[] | undefined): string {
  const reported = events?.map((event) => [event.id, event.author, event.content, event.timestamp]);
  return createHash('sha256').update(JSON.stringify(reported)).digest('hex');
}

function assertSame(digests: Map<string, string>): void {
  if (new Set(digests.values()).size !== 1) {
    throw new Error(`The variants kept different events: ${JSON.stringify([...digests])}`);
  }
}
