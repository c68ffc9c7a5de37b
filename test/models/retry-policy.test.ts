import type { LlmRequest, LlmResponse } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { withLiveFacts } from '../../src/adk/live-facts.ts';
import { callModel } from '../../src/models/model-call.ts';
import type { RetryPolicy } from '../../src/models/retry-policy.ts';
import type { WaitingReason } from '../../src/protocol/index.ts';
import { modelErrorText } from '../../src/server/conversation/state/errors.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import {
  call,
  hanging,
  partial,
  ScriptedModel,
  type ScriptedTurn,
  streamed,
  text,
} from '../support/scripted-model.ts';

const START = 1_700_000_000_000;
const request = (): LlmRequest => ({ contents: [], liveConnectConfig: {}, toolsDict: {} });

function failing(status: number, headers: Record<string, string> = {}): Error {
  return Object.assign(new Error(`error ${status}`), { statusCode: status, responseHeaders: headers });
}

const reset = () =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNRESET' }) });

/** A model call whose time passes by hand. */
function calling(turns: ScriptedTurn[], retryPolicy: Partial<RetryPolicy> = {}, signal?: AbortSignal) {
  const clock = new ManualClock(START);
  const model = new ScriptedModel(turns);
  const responses = callModel(model, request(), {
    stream: true,
    signal,
    retryPolicy: { timer: clock, random: () => 1, ...retryPolicy },
  });
  return { clock, model, responses };
}

const waiting = (reason: WaitingReason, ms: number) => ({
  partial: true,
  usageMetadata: {},
  ...withLiveFacts({ waiting: { reason, retryAt: START + ms } }),
});

/** Everything that is left to say. */
async function rest(responses: AsyncGenerator<LlmResponse, void>): Promise<LlmResponse[]> {
  const all: LlmResponse[] = [];
  for await (const response of responses) all.push(response);
  return all;
}

/** Lets everything happen that needs no time. */
const turnOfEvents = () => new Promise((resolve) => setImmediate(resolve));

describe('a model that fails before it said anything', () => {
  it.each([
    ['429', failing(429), 'rate_limited'],
    ['500', failing(500), 'overloaded'],
    ['503', failing(503), 'overloaded'],
    ['529', failing(529), 'overloaded'],
    ['a reset', reset(), 'unreachable'],
  ] as const)('[S17] is asked again after %s', async (_name, error, reason) => {
    const { clock, model, responses } = calling([[error], streamed('Back.')]);
    expect((await responses.next()).value).toEqual(waiting(reason, 1000));
    const next = responses.next();
    clock.advance(999);
    await turnOfEvents();
    expect(model.requests).toHaveLength(1);
    clock.advance(1);
    expect((await next).value).toEqual(partial('Back.'));
    expect(await rest(responses)).toMatchObject([text('Back.')]);
  });

  it.each([3_600_000, -3_600_000])(
    '[S17] is asked again in time, though the clock is set back by %i ms meanwhile',
    async (ms) => {
      const { clock, model, responses } = calling([[failing(503)], streamed('Back.')]);
      expect((await responses.next()).value).toEqual(waiting('overloaded', 1000));
      clock.setBack(ms);
      const next = responses.next();
      clock.advance(999);
      await turnOfEvents();
      expect(model.requests).toHaveLength(1);
      clock.advance(1);
      await turnOfEvents();
      expect(model.requests).toHaveLength(2);
      expect((await next).value).toEqual(partial('Back.'));
      await responses.return();
    },
  );

  it('[S17] is asked a few times, each later than the last, and then it has failed', async () => {
    const { clock, model, responses } = calling([1, 2, 3, 4].map(() => [failing(503)]));
    let next = responses.next();
    for (const [wait, at] of [
      [1000, 1000],
      [2000, 3000],
      [4000, 7000],
    ] as const) {
      expect((await next).value).toEqual(waiting('overloaded', at));
      next = responses.next();
      clock.advance(wait);
    }
    expect((await next).value).toEqual({ errorCode: '503', errorMessage: 'error 503', partial: false });
    expect(model.requests).toHaveLength(4);
    expect(clock.pending).toBe(0);
  });

  it('[S17] is asked again when it said to come back', async () => {
    const { clock, responses } = calling([[failing(429, { 'retry-after': '7' })], streamed('Back.')]);
    expect((await responses.next()).value).toEqual(waiting('rate_limited', 7000));
    const next = responses.next();
    clock.advance(7000);
    expect((await next).value).toEqual(partial('Back.'));
    await responses.return();
  });

  it('is not asked again when it wants to be left alone for longer than anyone waits', async () => {
    const { model, responses } = calling([[failing(429, { 'retry-after': '3600' })]]);
    expect(await rest(responses)).toMatchObject([{ errorCode: '429' }]);
    expect(model.requests).toHaveLength(1);
  });

  it.each([
    ['a wrong key', failing(401), '401'],
    ['a wrong model', failing(404), '404'],
    ['a wrong request', failing(400), '400'],
    [
      'an empty account',
      Object.assign(failing(429), {
        responseBody:
          '{"error":{"message":"Pay first","type":"insufficient_quota","code":"insufficient_quota"}}',
      }),
      'QUOTA',
    ],
  ])('is not asked again after %s', async (_name, error, errorCode) => {
    const { model, responses } = calling([[error]]);
    expect(await rest(responses)).toMatchObject([{ errorCode }]);
    expect(model.requests).toHaveLength(1);
  });

  it('is left alone when the person interrupts the wait', async () => {
    const abort = new AbortController();
    const { clock, model, responses } = calling([[failing(503)], streamed('Late.')], {}, abort.signal);
    await responses.next();
    const next = responses.next();
    abort.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    clock.advance(60_000);
    await turnOfEvents();
    expect(model.requests).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });
});

describe('a model that has said something', () => {
  it.each([
    ['a word', partial('Hel')],
    ['a tool call that is not shown yet', { ...call('pay', {}), partial: true }],
    ['nothing but that it writes', { partial: true }],
  ])('[S17b] is never asked again: %s', async (_name, texts) => {
    const { model, responses } = calling([[texts, failing(503)]]);
    const all = await rest(responses);
    expect(all.at(-1)).toMatchObject({ errorCode: '503', partial: false });
    expect(all.at(-1)?.content?.parts?.some((part) => part.functionCall) ?? false).toBe(false);
    expect(model.requests).toHaveLength(1);
  });
});

describe('a model that is silent', () => {
  it('[S17] before its first token is stopped, and asked again', async () => {
    const silent = hanging();
    const { clock, responses } = calling([silent.turn, streamed('Back.')], { firstTokenMs: 5000 });
    const first = responses.next();
    await turnOfEvents();
    clock.advance(5000);
    expect((await first).value).toEqual(waiting('silent', 6000));
    await turnOfEvents();
    expect(silent.stopped()).toBe(true);
    const next = responses.next();
    clock.advance(1000);
    expect((await next).value).toEqual(partial('Back.'));
    await responses.return();
  });

  it('between two tokens is stopped, and what it said stays', async () => {
    const silent = hanging(partial('Hel'));
    const { clock, responses } = calling([silent.turn], { firstTokenMs: 5000, nextTokenMs: 1000 });
    expect((await responses.next()).value).toEqual(partial('Hel'));
    const next = responses.next();
    await turnOfEvents();
    clock.advance(2000);
    expect((await next).value).toMatchObject({ ...text('Hel'), errorCode: 'SILENT' });
    expect(await responses.next()).toEqual({ done: true, value: undefined });
    await turnOfEvents();
    expect(silent.stopped()).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('may be so for ever when it is allowed to', async () => {
    const silent = hanging();
    const abort = new AbortController();
    const retryPolicy = { firstTokenMs: null, nextTokenMs: null };
    const { clock, responses } = calling([silent.turn], retryPolicy, abort.signal);
    const first = responses.next();
    clock.advance(1e9);
    await turnOfEvents();
    expect(silent.stopped()).toBe(false);
    abort.abort();
    expect(await first).toEqual({ done: true, value: undefined });
  });

  it('is not blamed for the time that whoever listens takes', async () => {
    const { clock, responses } = calling([streamed('a', 'b')], { nextTokenMs: 1000 });
    await responses.next();
    clock.advance(10_000);
    expect(await rest(responses)).toMatchObject([partial('b'), text('ab')]);
  });
});

describe('the person', () => {
  const retryPolicy = { retries: 1 };
  const busy = failing(429, { 'retry-after': '0' });
  const shape = ['start', 'text-start', 'text-delta', 'text-end', 'finish'];

  it('[S17a] [C10] sees over SSE that the model is asked again', async () => {
    const { chunks } = await harness([[busy], streamed('Back.')], [], { retryPolicy }).post(say('hi'));
    expect(chunks[1]).toEqual({
      type: 'data-waiting',
      data: { reason: 'rate_limited', retryAt: expect.any(Number) },
      transient: true,
    });
    expect(chunks.map(({ type }) => type)).toEqual(shape.toSpliced(1, 0, 'data-waiting'));
  });

  it('[S17a] [C10] sees over BIDI that the model is asked again', async () => {
    const { connect } = await live([[busy], streamed('Back.')], [], { retryPolicy });
    const socket = await connect();
    socket.say('hi');
    const { data } = await socket.chunk('data-waiting');
    expect(data).toEqual({ reason: 'rate_limited', retryAt: expect.any(Number) });
    await socket.done();
    expect(socket.chunks.map(({ type }) => type)).toEqual(shape);
    socket.close();
  });

  const away = failing(503, { 'retry-after': '29' });

  it('[S8] can stop the wait over SSE, and the next message works', async () => {
    const { duologue, post, model } = harness([[away], streamed('Here.')], [], { retryPolicy });
    const response = await duologue.fetch(
      new Request('http://localhost/stream', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(say('hi')),
      }),
    );
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('data-waiting')) text += (await reader?.read())?.value ?? '';
    await duologue.fetch(new Request('http://localhost/sessions/chat-1/stop', { method: 'POST' }));
    while (!text.includes('[DONE]')) text += (await reader?.read())?.value ?? '';
    expect(text).toContain('"interrupted":true');
    expect(model.requests).toHaveLength(1);
    const { chunks } = await post(say('again'));
    expect(chunks).toContainEqual({ type: 'text-delta', id: '0', delta: 'Here.' });
  });

  it('[B6] can interrupt the wait over BIDI, and the next message works', async () => {
    const { connect, model } = await live([[away], streamed('Here.')], [], { retryPolicy });
    const socket = await connect();
    socket.say('hi');
    await socket.chunk('data-waiting');
    socket.send('interrupt');
    await socket.done();
    expect(model.requests).toHaveLength(1);
    socket.say('again');
    await socket.done(2);
    expect(socket.chunks).toContainEqual({ type: 'text-delta', id: '0', delta: 'Here.' });
    socket.close();
  });
});

describe('a conversation with a model that falls silent again and again', () => {
  const deaf: ScriptedTurn = async function* () {
    // It does not listen to the signal either.
    await new Promise(() => undefined);
    yield text('Never.');
  };
  const turns = (): ScriptedTurn[] => [
    hanging().turn,
    [call('get_weather', { location: 'Oslo' }, 'call-1')],
    hanging().turn,
    streamed('Rain.'),
    hanging(partial('Hel')).turn,
    deaf,
    hanging().turn,
    streamed('Here.'),
  ];

  it.each(['live', 'turn'] as const)(
    '[S17] [B13] goes on: each of three messages has one end, driven %s',
    async (driver) => {
      const clock = new ManualClock();
      const retryPolicy = { firstTokenMs: 5000, nextTokenMs: 5000, random: () => 1 };
      // Fake time runs ahead of the network: the socket is not closed for that.
      const socketLimits = { heartbeatMs: 1e9, silenceMs: 1e9, idleMs: 1e9 };
      const options = { clock, retryPolicy, driver, socketLimits };
      const { connect, model } = await live(turns(), [fourTools().weather], options);
      const socket = await connect();
      for (const [index, texts] of ['weather?', 'hello', 'still there?'].entries()) {
        socket.say(texts);
        while (socket.dones <= index) {
          await turnOfEvents();
          clock.advance(100);
        }
      }
      const written = socket.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []));
      expect(written).toEqual(['Rain.', 'Hel', 'Here.']);
      expect([socket.dones, model.left]).toEqual([3, 0]);
      expect(socket.chunks.filter(({ type }) => type === 'error')).toEqual([
        { type: 'error', errorText: modelErrorText('SILENT', '') },
      ]);
      socket.close();
    },
  );
});
