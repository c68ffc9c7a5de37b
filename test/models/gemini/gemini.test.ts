import { FunctionTool, Gemini, type LlmResponse } from '@google/adk';
import type { Content } from '@google/genai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isLiveModelName } from '../../../src/models/gemini/families.ts';
import { DuologueGemini } from '../../../src/models/gemini/index.ts';
import { chunk, FakeGemini } from '../../support/fake-gemini.ts';
import { plain, TestRun } from '../support/runs.ts';

const add = new FunctionTool({
  name: 'add',
  description: 'adds',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});

describe('Gemini turn by turn, over its wire', () => {
  let fake: FakeGemini;
  beforeEach(async () => {
    fake = await FakeGemini.start();
  });
  afterEach(() => fake.stop());

  const gemini = () => new DuologueGemini({ model: 'gemini-x', apiKey: 'k', baseUrl: fake.baseUrl });

  test('text, calls split over chunks and a trailing usage are one final event each call', async () => {
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 };
    fake.reply = ({ body }) =>
      (body.contents as unknown[]).length === 1
        ? [
            chunk([{ text: 'Let ' }]),
            chunk([{ text: 'me.' }]),
            chunk([{ functionCall: { name: 'add', args: { a: 1, b: 2 } } }]),
            chunk([{ functionCall: { name: 'add', args: { a: 3, b: 4 } } }]),
            chunk([], { finishReason: 'STOP', usageMetadata }),
          ]
        : [chunk([{ text: '3 and 7' }], { finishReason: 'STOP', usageMetadata })];
    const events = await new TestRun(gemini(), { tools: [add], instruction: 'sys' }).say('sums');
    expect(
      events.map((event) => [event.partial ?? false, event.content?.parts?.length, event.errorCode]),
    ).toEqual([
      [true, 1, undefined],
      [true, 1, undefined],
      [false, 3, undefined],
      [false, 2, undefined],
      [true, 1, undefined],
      [false, 1, undefined],
    ]);
    expect(events.at(-1)).toMatchObject({ usageMetadata, finishReason: 'STOP' });
    expect(fake.calls).toHaveLength(2);
    expect(fake.calls[0]?.url).toBe('/v1beta/models/gemini-x:streamGenerateContent?alt=sse');
    expect(fake.calls[0]?.headers['x-goog-api-key']).toBe('k');
  });

  test('a blocked prompt is an error', async () => {
    fake.reply = () => [
      {
        promptFeedback: { blockReason: 'SAFETY' },
        usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
      },
    ];
    const events = await new TestRun(gemini()).say('hm');
    expect(events.map(plain)).toEqual([
      {
        errorCode: 'SAFETY',
        usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
        partial: false,
      },
    ]);
  });

  test('signatures of texts and of calls are kept where the model put them', async () => {
    fake.reply = () => [
      chunk([{ text: 'Hm', thought: true }]),
      chunk([{ text: '.', thought: true, thoughtSignature: 'one' }]),
      chunk([{ text: 'Hel' }]),
      chunk([{ text: 'lo' }]),
      chunk([{ text: '', thoughtSignature: 'two' }]),
      chunk([{ text: 'Bye' }], { finishReason: 'STOP' }),
    ];
    const run = new TestRun(gemini());
    const events = await run.say('hm');
    expect(events.at(-1)?.content?.parts).toEqual([
      { text: 'Hm.', thought: true, thoughtSignature: 'one' },
      { text: 'Hello', thoughtSignature: 'two' },
      { text: 'Bye' },
    ]);
    fake.reply = () => [chunk([{ text: 'Yes.' }], { finishReason: 'STOP' })];
    await run.say('and?');
    const sent = fake.calls.at(-1)?.body.contents as Content[] | undefined;
    expect(sent?.[1]?.parts).toContainEqual({
      text: 'Hello',
      thoughtSignature: 'two',
    });
  });

  test('a signature without a text is kept with the text before it', async () => {
    fake.reply = () => [
      chunk([{ text: '', thought: true, thoughtSignature: 'one' }]),
      chunk([{ text: 'Hello' }, {}]),
      chunk([{ thoughtSignature: 'two' }], { finishReason: 'STOP' }),
    ];
    const events = await new TestRun(gemini()).say('hi');
    expect(events.at(-1)?.content?.parts).toEqual([
      { text: '', thought: true, thoughtSignature: 'one' },
      { text: 'Hello', thoughtSignature: 'two' },
    ]);
  });

  test('signatures that Gemini refuses are left out of a second call, with the parts that have nothing else', async () => {
    const model = new DuologueGemini({ model: 'gemini-3-x', apiKey: 'k', baseUrl: fake.baseUrl });
    fake.reply = ({ body }) =>
      JSON.stringify(body.contents).includes('thoughtSignature')
        ? { error: { code: 400, message: 'Corrupted thought signature.', status: 'INVALID_ARGUMENT' } }
        : [chunk([{ text: 'Yes.' }], { finishReason: 'STOP' })];
    const user = { role: 'user', parts: [{ text: 'hi' }] };
    const contents: Content[] = [
      user,
      {
        role: 'model',
        parts: [
          { text: 'Hm.', thought: true, thoughtSignature: 'one' },
          { text: '', thought: true, thoughtSignature: 'two' },
          { thoughtSignature: 'three' },
          { text: 'Hello', thoughtSignature: 'four' },
        ],
      },
      user,
      { role: 'model', parts: [{ text: '', thoughtSignature: 'five' }, { thoughtSignature: 'six' }] },
      user,
    ];
    const request = { contents, toolsDict: {}, liveConnectConfig: {} };
    let last: LlmResponse | undefined;
    for await (const response of model.generateContentAsync(request, true)) last = response;
    expect(last?.content?.parts).toEqual([{ text: 'Yes.' }]);
    expect(fake.calls.map(({ body }) => body.contents)).toEqual([
      contents,
      [user, { role: 'model', parts: [{ text: 'Hm.', thought: true }, { text: 'Hello' }] }, user, user],
    ]);
  });

  test('a stream that breaks off is no answer, keeps what was read and makes no call', async () => {
    fake.reply = () => [chunk([{ text: 'Hel' }]), chunk([{ functionCall: { name: 'nope', args: {} } }])];
    const events = await new TestRun(gemini()).say('hm');
    expect(events.map(plain).at(-1)).toEqual({
      content: { role: 'model', parts: [{ text: 'Hel' }] },
      errorCode: 'INCOMPLETE',
      errorMessage: 'The stream of the model ended before the answer was complete.',
      partial: false,
    });
  });

  test('arguments that come in pieces are put together', async () => {
    const piece = (functionCall: object) => chunk([{ functionCall }]);
    const a = { jsonPath: '$.a', numberValue: 1 };
    const b = { jsonPath: '$.b', numberValue: 2 };
    fake.reply = ({ body }) =>
      (body.contents as unknown[]).length === 1
        ? [
            piece({ name: 'add', willContinue: true }),
            piece({ partialArgs: [a], willContinue: true }),
            piece({ partialArgs: [b], willContinue: true }),
            piece({}),
            chunk([], { finishReason: 'STOP' }),
          ]
        : [chunk([{ text: 'Three.' }], { finishReason: 'STOP' })];
    const events = await new TestRun(gemini(), { tools: [add] }).say('hm');
    expect(events[0]?.content?.parts?.[0]?.functionCall).toMatchObject({ name: 'add', args: { a: 1, b: 2 } });
    expect(events[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual({ sum: 3 });
  });

  test('what other providers keep with a part is not sent to Gemini', async () => {
    fake.reply = () => [chunk([{ text: 'Yes.' }], { finishReason: 'STOP' })];
    await new TestRun(gemini()).say([{ text: 'hm', partMetadata: { aiSdk: { openai: { itemId: 'x' } } } }]);
    expect(fake.calls.at(-1)?.body.contents).toEqual([{ role: 'user', parts: [{ text: 'hm' }] }]);
  });

  test('an error of the service is told by its status and its words', async () => {
    fake.reply = () => ({ error: { code: 429, message: 'Quota', status: 'RESOURCE_EXHAUSTED' } });
    const events = await new TestRun(gemini()).say('hm');
    expect(events.map(plain)).toEqual([{ errorCode: '429', errorMessage: 'Quota', partial: false }]);
  });

  test('an abort closes the request', async () => {
    const abort = new AbortController();
    let closed = () => {};
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    fake.reply = () => (response) => {
      response.on('close', closed);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(chunk([{ text: 'Hel' }]))}\r\n\r\n`, () => {
        setImmediate(() => abort.abort());
      });
    };
    const events = await new TestRun(gemini()).say('hm', abort.signal);
    await isClosed;
    expect(events.every((event) => event.partial)).toBe(true);
  });

  test('a live run on a model that is not live is played turn by turn', async () => {
    fake.reply = () => [chunk([{ functionCall: { name: 'nope', args: {} } }], { finishReason: 'STOP' })];
    const run = new TestRun(gemini());
    const live = await run.live();
    live.say('hi');
    await live.until((one) => one.calls.length === 1);
    fake.reply = () => [chunk([{ text: 'Sorry.' }], { finishReason: 'STOP' })];
    await live.until((one) => one.turns === 1);
    await live.close();
    expect(live.calls[0]?.id).toMatch(/^function-call-\d+$/);
    expect(fake.connections).toEqual([]);
  });
});

test.each([
  ['gemini-2.5-flash-native-audio-latest', true],
  ['gemini-live-2.5-flash-preview', true],
  ['gemini-3.1-flash-live-preview', true],
  ['projects/p/locations/l/publishers/google/models/gemini-2.0-flash-live-001', true],
  ['gemini-2.5-flash', false],
  ['gemini-oliver', false],
])('whether %s speaks the live protocol: %s', (name, isLive) => {
  expect(isLiveModelName(name)).toBe(isLive);
});

test('it is a Gemini model', () => {
  expect(new DuologueGemini({ apiKey: 'k' })).toBeInstanceOf(Gemini);
});
