import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveFactsOf } from '../../../src/adk/live-facts.ts';
import { DuologueGemini } from '../../../src/models/gemini/index.ts';
import { connectGemini, type GeminiLiveOptions } from '../../../src/models/gemini/live-provider.ts';
import { guardConnection } from '../../../src/models/live/guard.ts';
import { failOnUnhandled } from '../../contract/support/unhandled.ts';
import { ManualClock } from '../../support/clock.ts';
import { FakeGemini, type FakeLive } from '../../support/fake-gemini.ts';
import { fastTimer } from '../../support/fast-timer.ts';
import { roundTrip } from '../../support/settled.ts';
import { DeferredTool } from '../support/deferred-tool.ts';
import { TestRun } from '../support/runs.ts';

failOnUnhandled();

const UNREADABLE = 'The live model sent a frame that cannot be read. The connection was closed.';

let fake: FakeGemini;
beforeEach(async () => {
  fake = await FakeGemini.start();
});
afterEach(() => fake.stop());

function gemini(live?: GeminiLiveOptions): DuologueGemini {
  return new DuologueGemini({
    model: 'gemini-3.8-live',
    apiKey: 'k',
    baseUrl: fake.baseUrl,
    live: { timer: fastTimer(100), ping: null, setupTimeoutMs: 1_000_000, ...live },
  });
}

/** What the service does when it has the setup. */
function afterSetup(does: (connection: FakeLive) => void): void {
  fake.onLive = (message, connection) => {
    if (!('setup' in message)) return;
    connection.send({ setupComplete: {} });
    does(connection);
  };
}

const request = () => ({ contents: [], toolsDict: {}, liveConnectConfig: {} });
const pay = (id: string, amount = 1) => ({ id, name: 'pay', args: { amount } });
const calls = (...functionCalls: object[]) => ({ toolCall: { functionCalls } });
const texts = (...parts: object[]) => ({ serverContent: { modelTurn: { parts } } });

describe('a live server out of order', () => {
  test('that answers a setup which was not sent fails the connection in words', async () => {
    fake.onConnect = (connection) => connection.send({ setupComplete: {} }, { serverContent: {} });
    const live = await new TestRun(gemini()).live();
    await live.end();
    expect(live.error).toMatchObject({ message: UNREADABLE });
    await fake.until(() => fake.open === 0);
  });

  test('that talks without end and answers no setup is not listened to', async () => {
    fake.onLive = (_, connection) =>
      connection.send(...Array.from({ length: 1000 }, () => texts({ text: 'x' })));
    const live = await new TestRun(gemini()).live();
    await live.end();
    expect(live.error).toMatchObject({ message: UNREADABLE });
    await fake.until(() => fake.open === 0);
  });

  test('a call inside what it says is made once, also when it comes as a call too', async () => {
    const functionCall = pay('f-1');
    afterSetup((connection) => connection.send(texts({ functionCall }), calls(functionCall)));
    const live = await new TestRun(gemini(), { tools: [new DeferredTool('pay')] }).live();
    await live.until((run) => run.calls.length > 0);
    live.answer('f-1', 'pay', { ok: true });
    await fake.until(() => fake.connections[0]?.received.length === 2);
    await live.close();
    expect(live.calls.map(({ id }) => id)).toEqual(['f-1']);
    expect(fake.connections[0]?.received[1]).toMatchObject({
      toolResponse: { functionResponses: [{ id: 'f-1', response: { ok: true } }] },
    });
  });

  test('a call with an empty id is made, and answered under one', async () => {
    afterSetup((connection) => connection.send(calls(pay(''))));
    const live = await new TestRun(gemini(), { tools: [new DeferredTool('pay')] }).live();
    await live.until((run) => run.calls.length === 1);
    const id = live.calls[0]?.id ?? '';
    live.answer(id, 'pay', { ok: true });
    await fake.until(() => fake.connections[0]?.received.length === 2);
    await live.close();
    expect(id).toMatch(/^function-call-/);
  });

  test('a signature that belongs to nothing is not kept, however long it is', async () => {
    const thoughtSignature = 'S'.repeat(1_000_000);
    afterSetup((connection) =>
      connection.send(texts({ thoughtSignature }), texts({ text: 'Hi.' }), {
        serverContent: { turnComplete: true },
      }),
    );
    const live = await new TestRun(gemini()).live();
    await live.until((run) => run.turns === 1);
    await live.close();
    expect(JSON.stringify(live.seen).length).toBeLessThan(1000);
  });
});

describe('calls that a live server takes back', () => {
  /** A connection, and a way to read the ids of the calls that it makes and takes back, as ADK knows them. */
  async function connect() {
    const connection = guardConnection(await connectGemini(gemini(), request(), gemini().live), request());
    const responses = connection.receive();
    const next = async (): Promise<string> => {
      for (;;) {
        const { value } = await responses.next();
        const [part] = value?.content?.parts ?? [];
        if (part?.functionCall) return `${part.functionCall.id}`;
        const ids = value && liveFactsOf(value).cancelledCalls;
        if (ids) return `not ${ids}`;
        if (!value || value.turnComplete) return 'end';
      }
    };
    return { connection, next };
  }

  test('under an id that it had used before are those that it means now', async () => {
    let server: FakeLive | undefined;
    afterSetup((one) => {
      server = one;
      one.send(calls(pay('f-1')));
    });
    const { connection, next } = await connect();
    expect(await next()).toBe('f-1');
    const functionResponse = { id: 'f-1', name: 'pay', response: { ok: true } };
    await connection.sendContent({ role: 'user', parts: [{ functionResponse }] });
    server?.send(texts({ text: 'Paid.' }), { serverContent: { turnComplete: true } });
    expect(await next()).toBe('end');
    server?.send(calls(pay('f-1')), { toolCallCancellation: { ids: ['f-1'] } });
    const other = await next();
    expect(other).toMatch(/^function-call-/);
    expect(await next()).toBe(`not ${other}`);
    await connection.close();
  });

  test('under one of their ids only are still wanted', async () => {
    afterSetup((one) =>
      one.send(
        calls(pay('f-1')),
        calls(pay('f-2')),
        { toolCallCancellation: { ids: ['f-1', 'nobody'] } },
        calls(pay('f-3', 2)),
        { toolCallCancellation: { ids: ['f-2'] } },
      ),
    );
    const { connection, next } = await connect();
    expect([await next(), await next(), await next()]).toEqual(['f-1', 'f-3', 'not f-1']);
    await connection.close();
  });
});

test('a socket that is given up while its client signs in is never opened', async () => {
  const model = new DuologueGemini({
    model: 'gemini-live-2.5-flash-native-audio',
    vertexai: true,
    project: 'p',
    location: 'global',
    baseUrl: fake.baseUrl,
  });
  const entering: (() => void)[] = [];
  const addAuthHeaders = () => new Promise<void>((enter) => entering.push(enter));
  Object.assign(model.liveApiClient.live, { auth: { addAuthHeaders } });
  const options = { timer: fastTimer(100), ping: null, setupTimeoutMs: 1000 };
  const late = await connectGemini(model, request(), options);
  await expect(late.receive().next()).rejects.toMatchObject({ code: 'SILENT' });
  const inTime = await connectGemini(model, request(), { ...options, setupTimeoutMs: 1_000_000 });
  for (const enter of entering) enter();
  await fake.until(() => fake.connections.some(({ received }) => received.length === 1));
  await inTime.close();
  await fake.until(() => fake.open === 0);
  expect(fake.connections.length).toBe(1);
});

test('whoever sets the time of the machine back does not hold up a connection', async () => {
  const timer = new ManualClock();
  let pings = 0;
  fake.onPing = () => {
    pings += 1;
  };
  const connection = await connectGemini(gemini(), request(), { timer });
  await connection.sendContent({ role: 'user', parts: [{ text: 'hi' }] });
  await fake.until(() => fake.connections[0]?.received.length === 2);
  timer.setBack(3_600_000);
  // The machine's clock says an hour less; seconds pass all the same.
  for (let passed = 0; passed < 30_000 && pings === 0; passed += 500) {
    timer.advance(500);
    await roundTrip();
  }
  await connection.close();
  expect(pings).toBeGreaterThan(0);
});
