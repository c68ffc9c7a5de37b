import type { ChatInit } from 'ai';
import { lastAssistantMessageIsCompleteWithApprovalResponses as approvalsComplete } from 'ai';
import { describe, expect, test } from 'vitest';
import {
  DuologueSseTransport,
  type DuologueSseTransportOptions,
  resumeWhen,
} from '../../src/client/index.ts';
import { type Chunk, encodeBlock, type Message } from '../../src/protocol/index.ts';
import { newestSdk, type Sdk, sdks } from '../support/sdks.ts';
import { brief, chatOf, type TestChat } from './support/chat.ts';
import { FakeHttp } from './support/http.ts';
import { announce, LOCATE, MUSIC, PAY, text, WEATHER } from './support/server.ts';
import { FakeNetwork, FakeTimers } from './support/time.ts';

const START: Chunk = { type: 'start', messageId: 'a1' };
const FINISH: Chunk = { type: 'finish', finishReason: 'stop' };
const PAUSE: Chunk = { type: 'finish', finishReason: 'tool-calls' };
const request = (toolCallId: string): Chunk => ({
  type: 'tool-approval-request',
  toolCallId,
  approvalId: `approval-${toolCallId}`,
});
const output = (toolCallId: string, value: unknown): Chunk => ({
  type: 'tool-output-available',
  toolCallId,
  output: value,
});

interface World {
  http: FakeHttp;
  timers: FakeTimers;
  transport: DuologueSseTransport<Message>;
  chat: TestChat;
  settle: (ms?: number) => Promise<void>;
  last: () => unknown[];
  say: (words: string) => Promise<void>;
  decide: (toolCallId: string, approved: boolean) => Promise<void>;
}

function world(
  sdk: Sdk,
  options: Partial<DuologueSseTransportOptions> = {},
  init: Partial<ChatInit<Message>> = {},
): World {
  const http = new FakeHttp();
  const timers = new FakeTimers();
  let id = 0;
  const transport = new DuologueSseTransport<Message>({
    url: 'http://localhost:1/base',
    fetch: http.fetch,
    timers,
    newId: () => `request-${++id}`,
    ...options,
  });
  const chat = chatOf(sdk, { transport, sendAutomaticallyWhen: resumeWhen(transport), ...init });
  const settle = async (ms?: number) => {
    for (let turn = 0; turn < 6; turn++) await timers.settle(turn === 0 ? ms : 1);
  };
  return {
    http,
    timers,
    transport,
    chat,
    settle,
    last: () => brief(chat.messages.at(-1)),
    async say(words) {
      void chat.sendMessage({ text: words });
      await settle();
    },
    async decide(toolCallId, approved) {
      await chat.addToolApprovalResponse({ id: `approval-${toolCallId}`, approved });
      await settle();
    },
  };
}

/** The parts of the message in a post, in short. */
function posted(body: Record<string, unknown> | undefined): unknown[] {
  const messages = body?.messages as Message[] | undefined;
  return brief(messages?.[0]);
}

describe.each(sdks)('with ai %s', (_version, sdk) => {
  test('only the last message is posted, with key and headers, and the answer is shown', async () => {
    const w = world(sdk, { key: 'k', headers: { 'x-app': '1' }, credentials: 'include' });
    w.http.answer(START, ...text('t', 'Hel', 'lo'), FINISH);
    w.http.answer({ type: 'start', messageId: 'a2' }, ...text('t', 'Again'), FINISH);
    await w.say('hi');
    await w.say('more');
    const texts = {
      id: 'chat-1',
      messages: [expect.objectContaining({ role: 'user' })],
      trigger: 'submit-message',
      watches: true,
    };
    expect(w.http.posts).toEqual([
      { ...texts, requestId: 'request-1' },
      { ...texts, requestId: 'request-2' },
    ]);
    expect(w.http.watched).toEqual(['/base/sessions/chat-1/watch']);
    expect(w.http.asked[1]?.headers).toEqual({
      'x-app': '1',
      authorization: 'Bearer k',
      'content-type': 'application/json',
    });
    expect([w.chat.status, w.chat.messages.map(brief)]).toEqual([
      'ready',
      [['hi'], ['Hello'], ['more'], ['Again']],
    ]);
  });

  test.each([
    ['our rule', true],
    ['our rule', false],
    ['the approval helper', true],
    ['the approval helper', false],
  ])('with %s the answer %s goes in a second request', async (rule, approved) => {
    const w = world(sdk, {}, rule === 'our rule' ? {} : { sendAutomaticallyWhen: approvalsComplete });
    w.http.answer(
      START,
      ...announce('pay-1', 'process_payment', { amount: 5 }, PAY),
      request('pay-1'),
      PAUSE,
    );
    w.http.answer(START, output('pay-1', 'ok'), ...text('t', 'Done.'), FINISH);
    await w.say('pay');
    expect([w.chat.status, w.last()]).toEqual(['ready', [['pay-1', 'approval-requested']]]);
    await w.decide('pay-1', approved);
    expect([w.http.posts.length, w.http.posts[1]?.messageId, posted(w.http.posts[1])]).toEqual([
      2,
      'a1',
      [['pay-1', 'approval-responded', approved]],
    ]);
    expect([w.chat.status, w.chat.messages.length, w.last()]).toEqual([
      'ready',
      2,
      [['pay-1', 'output-available', approved, 'ok'], 'Done.'],
    ]);
  });

  test('the headers and the body of a single request go with its post, also when that is sent again', async () => {
    const w = world(sdk, { headers: { 'x-app': '1' } });
    w.http.answers.push(() => Promise.reject(new TypeError('terminated')));
    w.http.answer(START, ...announce('pay-1', 'process_payment', {}, PAY), request('pay-1'), PAUSE);
    w.http.answer(START, output('pay-1', 'ok'), FINISH);
    const extras = { headers: { 'x-trace': 't1' }, body: { plan: 'b', id: 'mine', requestId: 'mine' } };
    void w.chat.sendMessage({ text: 'hi' }, extras);
    await w.settle();
    await w.settle(1_000);
    await w.decide('pay-1', true);
    const posts = w.http.asked.filter(({ path }) => path === '/base/stream');
    expect(
      posts.map(({ headers, body }) => [
        headers['x-app'],
        headers['x-trace'],
        body?.plan,
        body?.id,
        body?.requestId,
      ]),
    ).toEqual([
      ['1', 't1', 'b', 'chat-1', 'request-1'],
      ['1', 't1', 'b', 'chat-1', 'request-1'],
      ['1', undefined, undefined, 'chat-1', 'request-2'],
    ]);
    expect(posts.every(({ body }) => body?.headers === undefined)).toBe(true);
  });

  test('several cards are answered in one request', async () => {
    const w = world(sdk);
    w.http.answer(
      START,
      ...announce('pay-1', 'process_payment', {}, PAY),
      ...announce('pay-2', 'process_payment', {}, PAY),
      request('pay-1'),
      request('pay-2'),
      PAUSE,
    );
    w.http.answer(START, output('pay-1', 1), output('pay-2', 2), FINISH);
    await w.say('pay both');
    await w.decide('pay-2', false);
    expect(w.http.posts).toHaveLength(1);
    await w.decide('pay-1', true);
    expect(w.http.posts.slice(1).map(posted)).toEqual([
      [
        ['pay-1', 'approval-responded', true],
        ['pay-2', 'approval-responded', false],
      ],
    ]);
  });

  test('a browser tool that asks runs after the approval, and both answers go in one request', async () => {
    let runs = 0;
    const w = world(sdk, { executors: { get_location: async () => ({ lat: ++runs }) } });
    w.http.answer(START, ...announce('loc-1', 'get_location', {}, LOCATE), request('loc-1'), PAUSE);
    w.http.answer(START, output('loc-1', { lat: 1 }), ...text('t', 'There.'), FINISH);
    await w.say('where');
    expect(runs).toBe(0);
    await w.decide('loc-1', true);
    expect([runs, w.http.posts.slice(1).map(posted)]).toEqual([
      1,
      [[['loc-1', 'output-available', true, { lat: 1 }]]],
    ]);
    expect([w.chat.status, w.last()]).toEqual([
      'ready',
      [['loc-1', 'output-available', true, { lat: 1 }], 'There.'],
    ]);
  });

  test('without an executor the approval waits for addToolOutput', async () => {
    const w = world(sdk);
    w.http.answer(START, ...announce('loc-1', 'get_location', {}, LOCATE), request('loc-1'), PAUSE);
    w.http.answer(START, output('loc-1', 'here'), FINISH);
    await w.say('where');
    await w.decide('loc-1', true);
    expect(w.http.posts).toHaveLength(1);
    await w.chat.addToolOutput({
      tool: 'get_location' as never,
      toolCallId: 'loc-1',
      output: 'here' as never,
    });
    await w.settle();
    expect(w.http.posts.slice(1).map(posted)).toEqual([[['loc-1', 'output-available', true, 'here']]]);
  });

  test('a browser tool runs, its output is posted, and the message goes on in the same response', async () => {
    const w = world(sdk, {
      executors: { change_bgm: (input: { track: number }) => ({ playing: input.track }) },
    });
    w.http.answer(START, ...announce('bgm-1', 'change_bgm', { track: 2 }, MUSIC), PAUSE);
    w.http.answer(START, output('bgm-1', { playing: 2 }), ...text('t', 'Playing.'), FINISH);
    await w.say('music');
    expect(w.http.posts[1]).toEqual({
      id: 'chat-1',
      watches: true,
      messages: [
        {
          id: 'a1',
          role: 'assistant',
          parts: [
            {
              type: 'tool-change_bgm',
              toolCallId: 'bgm-1',
              state: 'output-available',
              input: { track: 2 },
              output: { playing: 2 },
            },
          ],
        },
      ],
      trigger: 'submit-message',
      messageId: 'a1',
      requestId: 'request-2',
    });
    expect([w.chat.status, w.chat.messages.length, w.http.posts.length, w.last()]).toEqual([
      'ready',
      2,
      2,
      [['bgm-1', 'output-available', { playing: 2 }], 'Playing.'],
    ]);
    expect(w.transport.memory.wasSent('bgm-1', 'output')).toBe(true);
  });

  test('an optimistic call that ended before its post is known to be accepted runs the browser tool then', async () => {
    let runs = 0;
    const w = world(sdk, { executors: { change_bgm: () => ++runs } });
    let accept = () => {};
    const isHeard = new Promise<void>((resolve) => {
      accept = resolve;
    });
    w.http.answers.push(async ({ body }) => {
      const facts = { ...MUSIC, optimistic: true as const };
      w.http.say(START, ...announce('bgm-1', 'change_bgm', {}, facts), output('bgm-1', 'ok'), FINISH, null);
      await isHeard;
      const data = { requestId: String(body?.requestId), messageId: 'a1' };
      return new Response(encodeBlock({ type: 'data-accepted', data, transient: true }));
    });
    await w.say('music');
    const before = runs;
    accept();
    await w.settle();
    expect([before, runs, w.chat.status, w.last()]).toEqual([
      0,
      1,
      'ready',
      [['bgm-1', 'output-available', 'ok']],
    ]);
  });

  test('[T20a] an optimistic call runs the browser tool and posts nothing', async () => {
    let runs = 0;
    const w = world(sdk, { executors: { change_bgm: () => ++runs } });
    const facts = { ...MUSIC, optimistic: true as const };
    w.http.answer(
      START,
      ...announce('bgm-1', 'change_bgm', {}, facts),
      output('bgm-1', 'ok'),
      ...text('t', 'On.'),
      FINISH,
    );
    await w.say('music');
    expect([runs, w.http.posts.length, w.chat.status, w.last()]).toEqual([
      1,
      1,
      'ready',
      [['bgm-1', 'output-available', 'ok'], 'On.'],
    ]);
  });

  test('a refused post has its code and the time to wait', async () => {
    const w = world(sdk);
    w.http.refuse(429, { code: 'rate_limited', message: 'Too many.', retryable: true, retryAfterMs: 700 });
    await w.say('hi');
    expect([w.chat.status, w.chat.error]).toEqual([
      'error',
      expect.objectContaining({ code: 'rate_limited', message: 'Too many.', retryAfterMs: 700 }),
    ]);
  });

  test('stop() stops the agent', async () => {
    const w = world(sdk);
    w.http.answers.push(() => new Response(new ReadableStream(), { status: 200 }));
    await w.say('story');
    await w.chat.stop();
    await w.settle();
    expect(w.http.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /base/sessions/chat-1/watch',
      'POST /base/stream',
      'POST /base/sessions/chat-1/stop',
    ]);
    expect(w.chat.status).toBe('ready');
  });

  test('after a reload resumeStream() reads the response from its start, and acts on nothing again', async () => {
    let runs = 0;
    const w = world(sdk, { executors: { change_bgm: () => ++runs } });
    const facts = { ...MUSIC, optimistic: true as const };
    w.http.running = 'a1';
    w.http.say(START, ...announce('bgm-1', 'change_bgm', {}, facts), output('bgm-1', 'ok'));
    void w.chat.resumeStream();
    await w.settle();
    w.http.say(...text('t', 'On.'), FINISH, null);
    await w.settle();
    expect([w.chat.status, w.last(), runs]).toEqual([
      'ready',
      [['bgm-1', 'output-available', 'ok'], 'On.'],
      0,
    ]);
  });

  test('resumeStream() finds nothing when nothing runs', async () => {
    const w = world(sdk);
    void w.chat.resumeStream();
    await w.settle();
    expect([w.chat.status, w.chat.messages]).toEqual(['ready', []]);
  });
});

describe('a stream that breaks off', () => {
  const chunks: Chunk[] = [
    START,
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', delta: 'hm' },
    { type: 'reasoning-end', id: 'r' },
    ...announce('w', 'get_weather', { city: 'Oslo' }, WEATHER),
    output('w', 'sunny'),
    ...text('t', 'It ', 'is ', 'sunny.'),
    FINISH,
  ];
  const sdk = newestSdk;

  test.each(Array.from({ length: chunks.length + 1 }, (_, index) => index))(
    '[S20a] after %i chunks goes on where it was, and the message is the same',
    async (cutAfter) => {
      const w = world(sdk);
      w.http.cutAfter = cutAfter;
      w.http.answer(...chunks);
      await w.say('weather');
      await w.settle(1_000);
      expect(w.http.watched[1]).toBe(`/base/sessions/chat-1/watch?last=e1-${cutAfter}`);
      expect([w.chat.status, w.chat.messages.length, w.last()]).toEqual([
        'ready',
        2,
        ['hm', ['w', 'output-available', 'sunny'], 'It is sunny.'],
      ]);
    },
  );

  test('is asked for again, each time later, until it is there', async () => {
    const w = world(sdk);
    w.http.cutAfter = 9;
    w.http.answer(...chunks);
    await w.say('weather');
    w.http.onWatch = () => {
      if (w.http.watched.length % 2) throw new TypeError('fetch failed');
      return new Response('', { status: 503 });
    };
    for (const delay of [500, 1_000, 2_000, 4_000]) await w.settle(delay);
    expect([w.http.watched.length, w.chat.status]).toEqual([5, 'streaming']);
    w.http.onWatch = null;
    await w.settle(8_000);
    expect([w.http.watched.at(-1), w.chat.status, w.last()]).toEqual([
      '/base/sessions/chat-1/watch?last=e1-9',
      'ready',
      ['hm', ['w', 'output-available', 'sunny'], 'It is sunny.'],
    ]);
  });

  test('is asked for once more when the person is signed out, and then given up', async () => {
    const w = world(sdk);
    w.http.cutAfter = 3;
    w.http.answer(...chunks);
    await w.say('weather');
    w.http.onWatch = () =>
      Response.json({ error: { code: 'unauthorized', message: 'Sign in.' } }, { status: 401 });
    await w.settle(1_000);
    expect([w.http.watched.length, w.chat.error]).toEqual([
      3,
      expect.objectContaining({ code: 'unauthorized' }),
    ]);
  });

  test('is let go of while nobody sees the page and nothing is said, and taken up where it was', async () => {
    const network = new FakeNetwork();
    const w = world(sdk, { network });
    w.http.answer(START, ...text('t', 'Hi.'), FINISH);
    await w.say('hi');
    network.hidden = true;
    await w.settle(15_000);
    expect([w.transport.connection.state.status, w.http.asked[0]?.signal?.aborted]).toEqual(['idle', true]);
    w.http.say({ type: 'start', messageId: 'a2' }, ...text('t', 'More.'), FINISH, null);
    network.hidden = false;
    network.comeBack();
    await w.settle();
    void w.chat.resumeStream();
    await w.settle();
    expect(w.http.watched[1]).toBe('/base/sessions/chat-1/watch?last=e1-5');
    expect(w.chat.messages.map(brief)).toEqual([['hi'], ['Hi.'], ['More.']]);
  });

  test('a post is known to be accepted whatever the order of the keys in the JSON', async () => {
    const w = world(sdk);
    const accepted =
      '{"transient":true,"data":{"messageId":"a1","requestId":"request-1"},"type":"data-accepted"}';
    w.http.answers.push(() => {
      setImmediate(() => w.http.say(START, ...text('t', 'Hi.'), FINISH, null));
      return new Response(`data: ${accepted}\n\n`);
    });
    await w.say('hi');
    expect([w.chat.status, w.chat.messages.map(brief)]).toEqual(['ready', [['hi'], ['Hi.']]]);
  });

  test('[S9a] a silent one is left for another after a while', async () => {
    const w = world(sdk);
    w.http.answer(START, ...text('t', 'Hi.'), FINISH);
    await w.say('hi');
    for (let beat = 0; beat < 5; beat++) await w.settle(15_000);
    expect(w.http.watched.at(-1)).toBe('/base/sessions/chat-1/watch?last=e1-5');
  });

  test('[S9a] one that falls silent in the middle of an answer is left for another within ten seconds', async () => {
    const w = world(sdk);
    const accepted = '{"type":"data-accepted","data":{"requestId":"request-1","messageId":"a1"}}';
    w.http.answers.push(() => new Response(`data: ${accepted}\n\n`));
    await w.say('hi');
    w.http.say(START, { type: 'text-start', id: 't' });
    await w.settle();
    expect(w.http.watched).toHaveLength(1);
    for (let second = 0; second < 10; second++) await w.settle(1_000);
    expect(w.http.watched).toHaveLength(2);
  });
});

describe('the transport over HTTP', () => {
  const sdk = newestSdk;

  test.each([
    ['fails on its way', () => Promise.reject(new TypeError('fetch failed'))],
    ['gets no answer', () => new Response('')],
    ['finds the server closing', () => Response.json({ error: { code: 'shutting_down' } }, { status: 503 })],
    ['a proxy gives up', () => new Response('<h1>504 Gateway Time-out</h1>', { status: 504 })],
  ])('a post that %s is sent again, under its name', async (_how, refuse) => {
    const w = world(sdk);
    w.http.answer(START, ...announce('pay-1', 'process_payment', {}, PAY), request('pay-1'), PAUSE);
    w.http.answers.push(refuse);
    w.http.answer(START, output('pay-1', 'ok'), FINISH);
    await w.say('pay');
    await w.decide('pay-1', true);
    await w.settle(1_000);
    expect([w.chat.status, w.last()]).toEqual(['ready', [['pay-1', 'output-available', true, 'ok']]]);
    expect(w.http.posts.map(({ requestId }) => requestId)).toEqual(['request-1', 'request-2', 'request-2']);
  });

  test('[S9] a post that nothing answers is sent again after ten seconds, under its name, and a large one later', async () => {
    const w = world(sdk);
    w.http.answer(START, ...text('t', 'Hi.'), FINISH);
    await w.say('hi');
    w.http.answers.push(() => new Promise<Response>(() => undefined));
    w.http.answer({ ...START, messageId: 'a2' }, ...text('t', 'Again.'), FINISH);
    const silent = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        w.http.keepAlive();
        await w.settle(1_000);
      }
    };
    void w.chat.sendMessage({ text: 'x'.repeat(100_000) });
    await silent(14);
    expect(w.http.posts.map(({ requestId }) => requestId)).toEqual(['request-1', 'request-2']);
    await silent(3);
    expect(w.http.posts.map(({ requestId }) => requestId)).toEqual(['request-1', 'request-2', 'request-2']);
    expect([w.chat.status, w.last()]).toEqual(['ready', ['Again.']]);
  });

  test('an answer that was refused for a while may be given again, one that counts for nothing may not', async () => {
    const w = world(sdk);
    w.http.answer(START, ...announce('pay-1', 'process_payment', {}, PAY), request('pay-1'), PAUSE);
    w.http.refuse(429, { code: 'rate_limited', message: 'Later.', retryable: true });
    await w.say('pay');
    await w.decide('pay-1', true);
    expect([w.chat.status, w.transport.memory.wasSent('pay-1', 'decision')]).toEqual(['error', false]);
    w.http.refuse(409, { code: 'nothing_to_answer', message: 'Nothing.', retryable: false });
    void w.chat.sendMessage();
    await w.settle();
    expect([w.chat.error, w.transport.memory.wasSent('pay-1', 'decision')]).toEqual([
      expect.objectContaining({ code: 'nothing_to_answer' }),
      true,
    ]);
  });

  test('an answer that begins before its post is known to be accepted is read, once, from its start', async () => {
    const pending: unknown[] = [];
    const w = world(sdk, { onPending: (one) => pending.push(one) });
    w.http.isHasty = true;
    w.http.answer(START, ...text('t', 'Hel', 'lo'), FINISH);
    await w.say('hi');
    expect([w.chat.status, w.chat.messages.map(brief), pending]).toEqual(['ready', [['hi'], ['Hello']], []]);
  });

  test('[S20] what another page asks for is kept for whoever reads it, and its browser tools run there', async () => {
    const pending: unknown[] = [];
    let runs = 0;
    const w = world(sdk, {
      onPending: (one) => pending.push(one),
      executors: { change_bgm: () => ++runs },
    });
    w.http.answer(START, ...text('t', 'Hello'), FINISH);
    await w.say('hi');
    const start: Chunk = { type: 'start', messageId: 'a2' };
    w.http.say(start, ...announce('b', 'change_bgm', {}, MUSIC), PAUSE, null);
    await w.settle();
    expect([pending.at(-1), runs, w.http.posts.length]).toEqual([{ messageId: 'a2', isNew: true }, 0, 1]);
  });

  test('an error that is not ours is told by its status', async () => {
    const w = world(sdk);
    w.http.refuse(502);
    await w.say('hi');
    expect(w.chat.error).toMatchObject({ code: 'internal', message: expect.stringContaining('502') });
  });

  test('a failing tool is posted as a failure, and one that hangs as a time-out', async () => {
    const w = world(sdk, {
      executors: {
        breaks: () => {
          throw new Error('no speaker');
        },
        hangs: () => new Promise(() => undefined),
      },
      executorTimeoutMs: 5_000,
    });
    w.http.answer(START, ...announce('b', 'breaks', {}, MUSIC), ...announce('h', 'hangs', {}, MUSIC), PAUSE);
    w.http.answer(START, output('b', 1), output('h', 1), FINISH);
    await w.say('music');
    await w.settle(5_000);
    expect(posted(w.http.posts[1])).toEqual([
      ['b', 'output-error', 'no speaker'],
      ['h', 'output-error', 'Timeout waiting for hangs result'],
    ]);
  });

  test('a browser call beside a card is answered first, and the card stays', async () => {
    const w = world(sdk, { executors: { change_bgm: () => 'ok' } });
    w.http.answer(
      START,
      ...announce('bgm-1', 'change_bgm', {}, MUSIC),
      ...announce('pay-1', 'process_payment', {}, PAY),
      request('pay-1'),
      PAUSE,
    );
    w.http.answer(START, output('bgm-1', 'ok'), PAUSE);
    w.http.answer(START, output('pay-1', 'paid'), FINISH);
    await w.say('both');
    expect([w.chat.status, w.last()]).toEqual([
      'ready',
      [
        ['bgm-1', 'output-available', 'ok'],
        ['pay-1', 'approval-requested'],
      ],
    ]);
    await w.decide('pay-1', true);
    expect(w.http.posts.map(posted)).toEqual([
      ['both'],
      [['bgm-1', 'output-available', 'ok']],
      [['pay-1', 'approval-responded', true]],
    ]);
  });

  test('an error of the agent ends the response, and nothing is posted after it', async () => {
    const w = world(sdk, { executors: { change_bgm: () => 'ok' } });
    w.http.answer(
      START,
      ...announce('b', 'change_bgm', {}, MUSIC),
      { type: 'error', errorText: 'away' },
      FINISH,
    );
    await w.say('hi');
    expect([w.chat.status, w.chat.error?.message, w.http.posts.length]).toEqual(['error', 'away', 1]);
  });

  test('with onAbort "detach" stop() only stops reading, and interrupt() stops the agent', async () => {
    const w = world(sdk, { onAbort: 'detach' });
    w.http.answers.push(() => new Response(new ReadableStream(), { status: 200 }));
    await w.say('story');
    await w.chat.stop();
    expect(w.http.asked).toHaveLength(2);
    w.transport.interrupt();
    expect(w.http.asked.at(-1)?.path).toBe('/base/sessions/chat-1/stop');
  });

  test('a second resume takes the place of the first and stops nothing; stop() does', async () => {
    const w = world(sdk);
    w.http.running = 'a1';
    w.http.say(START, { type: 'text-start', id: 't' });
    void w.chat.resumeStream();
    await w.settle();
    void w.chat.resumeStream();
    await w.settle(3_000);
    expect(w.http.asked.map(({ path }) => path)).toEqual(['/base/sessions/chat-1/watch']);
  });

  test('a call that a newer message replaced is told and remembered', async () => {
    const heard: unknown[] = [];
    const w = world(sdk, { onData: (chunk) => heard.push(chunk.data) });
    w.http.answer(START, ...announce('pay-1', 'process_payment', {}, PAY), request('pay-1'), PAUSE);
    const settled = { toolCallId: 'pay-1', messageId: 'a1', errorText: 'Superseded by a newer message' };
    w.http.answer(
      { type: 'data-settled', data: settled, transient: true },
      { type: 'start', messageId: 'a2' },
      ...text('t', 'ok'),
      FINISH,
    );
    await w.say('pay');
    await w.say('never mind');
    expect([heard, w.transport.memory.isSettled('pay-1'), w.chat.status]).toEqual([[settled], true, 'ready']);
    await w.decide('pay-1', true);
    expect(w.http.posts).toHaveLength(2);
  });

  test('there must be something to send', async () => {
    const w = world(sdk);
    const options = { chatId: 'c', messages: [], messageId: undefined, abortSignal: undefined };
    await expect(w.transport.sendMessages({ ...options, trigger: 'submit-message' })).rejects.toMatchObject({
      code: 'empty_message',
    });
  });
});
