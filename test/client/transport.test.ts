import type { ChatInit } from 'ai';
import {
  lastAssistantMessageIsCompleteWithApprovalResponses as approvalsComplete,
  lastAssistantMessageIsCompleteWithToolCalls as toolCallsComplete,
} from 'ai';
import { describe, expect, test } from 'vitest';
import { DuologueTransport, type DuologueTransportOptions, resumeWhen } from '../../src/client/index.ts';
import type { Chunk, Message } from '../../src/protocol/index.ts';
import { newestSdk, type Sdk, sdks } from '../support/sdks.ts';
import { brief, chatOf, type TestChat } from './support/chat.ts';
import { announce, ask, FakeServer, LOCATE, MUSIC, PAY, text, WEATHER } from './support/server.ts';
import { FakeNetwork, FakeTimers } from './support/time.ts';

const START: Chunk = { type: 'start', messageId: 'a1' };
const FINISH: Chunk = { type: 'finish', finishReason: 'stop' };
const paid: Chunk = { type: 'tool-output-available', toolCallId: 'pay-1', output: { ok: true } };
const located = (output: unknown): Chunk => ({ type: 'tool-output-available', toolCallId: 'loc-1', output });

interface World {
  server: FakeServer;
  timers: FakeTimers;
  network: FakeNetwork;
  transport: DuologueTransport<Message>;
  chat: TestChat;
  settle: (ms?: number) => Promise<void>;
  last: () => unknown[];
  /** Approves or denies the card of a call. */
  decide: (toolCallId: string, approved: boolean, reason?: string) => Promise<void>;
}

function world(
  sdk: Sdk,
  options: Partial<DuologueTransportOptions> = {},
  init: Partial<ChatInit<Message>> = {},
): World {
  const server = new FakeServer();
  const timers = new FakeTimers();
  const network = new FakeNetwork();
  let id = 0;
  const transport = new DuologueTransport<Message>({
    url: 'http://localhost:1/base/',
    WebSocket: server.WebSocket,
    timers,
    network,
    newId: () => `request-${++id}`,
    ...options,
  });
  const chat = chatOf(sdk, { transport, sendAutomaticallyWhen: resumeWhen(transport), ...init });
  return {
    server,
    timers,
    network,
    transport,
    chat,
    settle: (ms) => timers.settle(ms),
    last: () => brief(chat.messages.at(-1)),
    async decide(toolCallId, approved, reason) {
      await chat.addToolApprovalResponse({
        id: `approval-${toolCallId}`,
        approved,
        ...(reason === undefined ? {} : { reason }),
      });
      await timers.settle();
    },
  };
}

describe.each(sdks)('with ai %s', (_version, sdk) => {
  test('a second chat is told to bring its own transport, and the first loses nothing', async () => {
    const w = world(sdk);
    const other = chatOf(sdk, { id: 'chat-2', transport: w.transport });
    void w.chat.sendMessage({ text: 'first' });
    void other.sendMessage({ text: 'second' });
    await w.settle();
    expect(other.error?.message).toMatch(
      /still reads a response of the chat "chat-1".*Create a transport for each chat/,
    );
    w.server.say(START, ...text('t', 'Hello'), FINISH, null);
    await w.settle();
    expect(w.last()).toEqual(['Hello']);
    expect(w.server.frames.map(({ data }) => data.id)).toEqual(['chat-1']);
    // When the first is at rest, the transport may serve another.
    other.clearError();
    void other.sendMessage({ text: 'now' });
    await w.settle();
    expect(w.server.frames.map(({ data }) => data.id)).toEqual(['chat-1', 'chat-2']);
  });

  test('a helper that asks to send what was answered long ago is refused once', async () => {
    const done = part('w-1', 'weather', WEATHER, { state: 'output-available', input: {}, output: 20 });
    const messages: Message[] = [{ id: 'a1', role: 'assistant', parts: [done] }];
    const w = world(sdk, {}, { messages, sendAutomaticallyWhen: toolCallsComplete });
    void w.chat.sendMessage();
    await w.settle();
    expect(w.chat.error).toMatchObject({ code: 'nothing_to_answer' });
    expect(w.server.frames).toEqual([]);
  });

  test('a message goes out in its envelope, and the answer is shown to its end', async () => {
    const { server, chat, settle, last } = world(sdk);
    void chat.sendMessage({ text: 'hi' });
    await settle();
    expect(server.sockets[0]?.url).toBe('ws://localhost:1/base/live?session=chat-1');
    expect(server.frames).toEqual([
      {
        type: 'message',
        version: '1.0',
        data: {
          id: 'chat-1',
          messages: [{ id: 'id-1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
          trigger: 'submit-message',
          requestId: 'request-1',
        },
      },
    ]);
    expect(chat.status).toBe('submitted');
    server.sayEach(START, ...text('t', 'Hel', 'lo', '!'));
    await settle();
    expect(chat.status).toBe('streaming');
    server.say(FINISH, null);
    await settle();
    expect(last()).toEqual(['Hello!']);
    expect([chat.status, chat.messages.map(({ id }) => id)]).toEqual(['ready', ['id-1', 'a1']]);
  });

  test.each([
    ['our rule', true, undefined],
    ['our rule', false, 'too much'],
    ['the approval helper', true, undefined],
    ['the approval helper', false, undefined],
  ])(
    'with %s a card pauses, and the answer %s goes on in the same message',
    async (rule, approved, reason) => {
      const isOurs = rule === 'our rule';
      const w = world(sdk, {}, isOurs ? {} : { sendAutomaticallyWhen: approvalsComplete });
      const { server, chat, settle, last } = w;
      void chat.sendMessage({ text: 'pay' });
      await settle();
      server.sayEach(START, ...announce('pay-1', 'process_payment', { amount: 5 }, PAY), ...ask('pay-1'));
      await settle();
      expect([chat.status, last()]).toEqual(['ready', [['pay-1', 'approval-requested']]]);
      await w.decide('pay-1', approved, reason);
      expect(server.framesOf('message').slice(1)).toEqual([
        {
          id: 'chat-1',
          messages: [
            {
              id: 'a1',
              role: 'assistant',
              parts: [expect.objectContaining({ toolCallId: 'pay-1', state: 'approval-responded' })],
            },
          ],
          trigger: 'submit-message',
          messageId: 'a1',
          requestId: 'request-2',
        },
      ]);
      expect(chat.status).not.toBe('ready');
      const denied: Chunk = { type: 'tool-output-error', toolCallId: 'pay-1', errorText: 'User denied' };
      server.say(approved ? paid : denied, ...text('t2', 'Done.'), FINISH, null);
      await settle();
      expect(last()).toEqual([
        approved
          ? ['pay-1', 'output-available', true, { ok: true }]
          : ['pay-1', 'output-error', false, 'User denied'],
        'Done.',
      ]);
      expect([chat.status, chat.messages.length, server.framesOf('message').length]).toEqual(['ready', 2, 2]);
    },
  );

  test('an answer given while the response is still read goes out when it ends, once', async () => {
    const w = world(sdk);
    const { server, chat, settle } = w;
    void chat.sendMessage({ text: 'pay' });
    await settle();
    const [step, request, finish] = ask('pay-1') as [Chunk, Chunk, Chunk];
    server.sayEach(START, ...announce('w-1', 'get_weather', {}, WEATHER));
    server.sayEach(...announce('pay-1', 'process_payment', {}, PAY), step, request, finish);
    await settle();
    expect(chat.status).toBe('streaming');
    await w.decide('pay-1', true);
    expect(server.framesOf('message')).toHaveLength(1);
    server.say({ type: 'tool-output-available', toolCallId: 'w-1', output: 'sunny' });
    await settle();
    expect(server.framesOf('message')).toHaveLength(2);
    server.say(paid, FINISH, null);
    await settle();
    expect([chat.status, server.framesOf('message').length]).toEqual(['ready', 2]);
  });

  test('two cards one after the other are two pauses of one turn', async () => {
    const w = world(sdk);
    const { server, chat, settle, last } = w;
    void chat.sendMessage({ text: 'pay both' });
    await settle();
    server.say(START, ...announce('pay-1', 'process_payment', { to: 'Alice' }, PAY), ...ask('pay-1'));
    await settle();
    await w.decide('pay-1', false);
    server.say(
      { type: 'tool-output-error', toolCallId: 'pay-1', errorText: 'User denied the tool call' },
      ...announce('pay-2', 'process_payment', { to: 'Bob' }, PAY),
      ...ask('pay-2'),
    );
    await settle();
    expect([chat.status, last()]).toEqual([
      'ready',
      [
        ['pay-1', 'output-error', false, 'User denied the tool call'],
        ['pay-2', 'approval-requested'],
      ],
    ]);
    await w.decide('pay-2', true);
    expect(
      server.framesOf('message').map(({ messages }) => (messages as Message[])[0]?.parts.length),
    ).toEqual([1, 1, 1]);
    server.say({ type: 'tool-output-available', toolCallId: 'pay-2', output: 1 }, FINISH, null);
    await settle();
    expect([chat.status, chat.messages.length]).toEqual(['ready', 2]);
  });

  test('two cards at once are answered in one frame when both are decided', async () => {
    const w = world(sdk);
    const { server, chat, settle } = w;
    void chat.sendMessage({ text: 'pay both' });
    await settle();
    server.say(
      START,
      ...announce('pay-1', 'process_payment', {}, PAY),
      ...announce('pay-2', 'process_payment', {}, PAY),
      ...ask('pay-1'),
      ...ask('pay-2'),
    );
    await settle();
    await w.decide('pay-2', true);
    expect(server.framesOf('message')).toHaveLength(1);
    await w.decide('pay-1', false);
    const [, answers] = server.framesOf('message');
    expect(brief(answerIn(answers))).toEqual([
      ['pay-1', 'approval-responded', false],
      ['pay-2', 'approval-responded', true],
    ]);
    expect(server.framesOf('message')).toHaveLength(2);
  });

  test('a browser tool runs once, and its result goes out by itself', async () => {
    const inputs: unknown[] = [];
    const { server, chat, settle, last } = world(sdk, {
      executors: {
        change_bgm: async (input: { track: number }, { toolCallId, signal }) => {
          inputs.push(input, toolCallId, signal.aborted);
          return { playing: input.track };
        },
      },
    });
    void chat.sendMessage({ text: 'music' });
    await settle();
    server.sayEach(START, ...announce('bgm-1', 'change_bgm', { track: 2 }, MUSIC));
    await settle();
    expect(chat.status).toBe('streaming');
    expect(server.framesOf('tool_result')).toEqual([
      { toolCallId: 'bgm-1', result: { playing: 2 }, requestId: 'request-2' },
    ]);
    server.say({ type: 'tool-output-available', toolCallId: 'bgm-1', output: { playing: 2 } }, FINISH, null);
    await settle();
    expect([chat.status, last(), inputs]).toEqual([
      'ready',
      [['bgm-1', 'output-available', { playing: 2 }]],
      [{ track: 2 }, 'bgm-1', false],
    ]);
  });

  test('[B12b] without an executor the response ends, so that addToolOutput sends', async () => {
    const { server, chat, settle, last } = world(sdk);
    void chat.sendMessage({ text: 'music' });
    await settle();
    server.sayEach(START, ...announce('bgm-1', 'change_bgm', { track: 2 }, MUSIC));
    await settle();
    expect([chat.status, last()]).toEqual(['ready', [['bgm-1', 'input-available']]]);
    await chat.addToolOutput({ tool: 'change_bgm' as never, toolCallId: 'bgm-1', output: 'ok' as never });
    await settle();
    expect(brief(answerIn(server.framesOf('message')[1]))).toEqual([['bgm-1', 'output-available', 'ok']]);
    server.say({ type: 'tool-output-available', toolCallId: 'bgm-1', output: 'ok' }, FINISH, null);
    await settle();
    expect([chat.status, server.framesOf('message').length]).toEqual(['ready', 2]);
  });

  test('a browser tool that asks runs after the approval, and only then', async () => {
    let runs = 0;
    const w = world(sdk, { executors: { get_location: async () => ({ lat: ++runs }) } });
    const { server, chat, settle, last } = w;
    void chat.sendMessage({ text: 'where' });
    await settle();
    server.sayEach(START, ...announce('loc-1', 'get_location', {}, LOCATE), ...ask('loc-1'));
    await settle();
    expect([chat.status, runs]).toEqual(['ready', 0]);
    await w.decide('loc-1', true);
    expect(runs).toBe(1);
    expect(server.framesOf('tool_result')).toEqual([
      { toolCallId: 'loc-1', result: { lat: 1 }, requestId: expect.any(String) },
    ]);
    server.say(located({ lat: 1 }), FINISH, null);
    await settle();
    expect([chat.status, last(), runs]).toEqual([
      'ready',
      [['loc-1', 'output-available', true, { lat: 1 }]],
      1,
    ]);
  });

  test('a browser tool that asks never runs after a denial', async () => {
    let runs = 0;
    const w = world(sdk, { executors: { get_location: async () => ++runs } });
    void w.chat.sendMessage({ text: 'where' });
    await w.settle();
    w.server.say(START, ...announce('loc-1', 'get_location', {}, LOCATE), ...ask('loc-1'));
    await w.settle();
    await w.decide('loc-1', false);
    w.server.say({ type: 'tool-output-error', toolCallId: 'loc-1', errorText: 'denied' }, FINISH, null);
    await w.settle();
    expect([runs, w.server.framesOf('tool_result'), w.chat.status]).toEqual([0, [], 'ready']);
  });

  test('without an executor approval and output go in one frame', async () => {
    const w = world(sdk);
    const { server, chat, settle } = w;
    void chat.sendMessage({ text: 'where' });
    await settle();
    server.say(START, ...announce('loc-1', 'get_location', {}, LOCATE), ...ask('loc-1'));
    await settle();
    await w.decide('loc-1', true);
    expect(server.framesOf('message')).toHaveLength(1);
    await chat.addToolOutput({ tool: 'get_location' as never, toolCallId: 'loc-1', output: 'here' as never });
    await settle();
    expect(
      server
        .framesOf('message')
        .slice(1)
        .map(({ messages }) => brief((messages as Message[])[0])),
    ).toEqual([[['loc-1', 'output-available', true, 'here']]]);
    server.say(located('here'), FINISH, null);
    await settle();
    expect([chat.status, server.framesOf('message').length]).toEqual(['ready', 2]);
  });

  test('[B12c] with the approval helper an approved browser tool without executor is shown again and sent once', async () => {
    const w = world(sdk, {}, { sendAutomaticallyWhen: approvalsComplete });
    const { server, chat, settle, last } = w;
    void chat.sendMessage({ text: 'where' });
    await settle();
    server.say(START, ...announce('loc-1', 'get_location', {}, LOCATE), ...ask('loc-1'));
    await settle();
    await w.decide('loc-1', true);
    expect([chat.status, last(), server.framesOf('message').length]).toEqual([
      'ready',
      [['loc-1', 'input-available', true]],
      2,
    ]);
  });

  test('what comes while no response is open waits, and sendMessage() goes on with the message', async () => {
    const pending: unknown[] = [];
    const w = world(sdk, {
      onPending: (what) => {
        pending.push(what);
        void w.chat.sendMessage();
      },
    });
    const { server, chat, settle, last } = w;
    void chat.sendMessage({ text: 'pay' });
    await settle();
    server.sayEach(START, ...announce('pay-1', 'process_payment', {}, PAY), ...ask('pay-1'));
    await settle();
    server.say(
      { type: 'tool-output-error', toolCallId: 'pay-1', errorText: 'Approval request timed out' },
      ...text('t', 'You did not answer.'),
      FINISH,
      null,
    );
    await settle();
    expect(pending).toEqual([{ messageId: 'a1', isNew: false }]);
    expect([chat.status, last()]).toEqual([
      'ready',
      [['pay-1', 'output-error', 'Approval request timed out'], 'You did not answer.'],
    ]);
    expect(server.framesOf('message')).toHaveLength(1);
  });

  test('a message that the agent begins by itself is read by resumeStream()', async () => {
    const w = world(sdk, {
      onPending: ({ isNew }) => void (isNew ? w.chat.resumeStream() : w.chat.sendMessage()),
    });
    const { server, chat, settle } = w;
    void chat.sendMessage({ text: 'hi' });
    await settle();
    server.say(START, ...text('t', 'Hello.'), FINISH, null);
    await settle();
    server.say({ type: 'start', messageId: 'a2' }, ...text('t', 'Still there?'));
    await settle();
    server.say(FINISH, null);
    await settle();
    expect(chat.messages.map((message) => [message.id, brief(message)])).toEqual([
      ['id-1', ['hi']],
      ['a1', ['Hello.']],
      ['a2', ['Still there?']],
    ]);
    expect(chat.status).toBe('ready');
  });

  test('typing while a card is open: the agent answers, and the card is answered in its own message', async () => {
    const w = world(sdk);
    const { server, chat, settle } = w;
    void chat.sendMessage({ text: 'pay' });
    await settle();
    server.say(START, ...announce('pay-1', 'process_payment', {}, PAY), ...ask('pay-1'));
    await settle();
    void chat.sendMessage({ text: 'and the weather?' });
    await settle();
    server.say({ type: 'start', messageId: 'a2' }, ...text('t', 'Sunny.'), FINISH, null);
    await settle();
    expect(chat.status).toBe('ready');
    await w.decide('pay-1', true);
    expect(server.framesOf('message')[2]?.messageId).toBe('a1');
    server.say(START, paid, ...text('t2', 'Paid.'), FINISH, null);
    await settle();
    expect(chat.messages.map((message) => [message.id, brief(message)])).toEqual([
      ['id-1', ['pay']],
      ['a1', [['pay-1', 'output-available', true, { ok: true }], 'Paid.']],
      [expect.any(String), ['and the weather?']],
      ['a2', ['Sunny.']],
    ]);
    expect(chat.status).toBe('ready');
  });

  test('a second message while the agent speaks gets its own response, and both end', async () => {
    const { server, chat, settle } = world(sdk);
    void chat.sendMessage({ text: 'one' });
    await settle();
    server.say(START, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'First' });
    await settle();
    void chat.sendMessage({ text: 'two' });
    await settle();
    server.say({ type: 'text-end', id: 't' }, FINISH, null);
    server.say({ type: 'start', messageId: 'a2' }, ...text('t', 'Second'), FINISH, null);
    await settle();
    expect(chat.messages.map(brief)).toEqual([['one'], ['First'], ['two'], ['Second']]);
    expect(chat.status).toBe('ready');
  });

  test('stop() interrupts the agent', async () => {
    const { server, chat, settle } = world(sdk);
    void chat.sendMessage({ text: 'story' });
    await settle();
    server.say(START, ...text('t', 'Once'));
    await settle();
    await chat.stop();
    expect(server.framesOf('interrupt')).toEqual([{ reason: 'user_abort', requestId: 'request-2' }]);
    expect(chat.status).toBe('ready');
  });

  test('with onAbort "detach" stop() only stops reading, and interrupt() interrupts', async () => {
    const { server, chat, settle, transport } = world(sdk, { onAbort: 'detach' });
    void chat.sendMessage({ text: 'story' });
    await settle();
    server.say(START, ...text('t', 'Once'));
    await settle();
    await chat.stop();
    expect(server.framesOf('interrupt')).toEqual([]);
    transport.interrupt();
    expect(server.framesOf('interrupt')).toHaveLength(1);
  });

  test('an error of the agent ends the response, and what follows it has no reader', async () => {
    const pending: unknown[] = [];
    const { server, chat, settle } = world(sdk, { onPending: (what) => pending.push(what) });
    void chat.sendMessage({ text: 'hi' });
    await settle();
    server.sayEach(START, { type: 'error', errorText: 'The model is away.' }, FINISH, null);
    await settle();
    expect([chat.status, chat.error?.message, pending]).toEqual(['error', 'The model is away.', []]);
    void chat.sendMessage({ text: 'again' });
    await settle();
    server.say({ type: 'start', messageId: 'a2' }, ...text('t', 'Back.'), FINISH, null);
    await settle();
    expect([chat.status, brief(chat.messages.at(-1))]).toEqual(['ready', ['Back.']]);
  });

  test('a refused message ends its response with the code', async () => {
    const { server, chat, settle } = world(sdk);
    server.onFrame = () =>
      server.tell({
        type: 'data-error',
        data: { code: 'rate_limited', message: 'Too many.', retryable: true, retryAfterMs: 900 },
        transient: true,
      });
    void chat.sendMessage({ text: 'hi' });
    await settle();
    expect([chat.status, chat.error]).toEqual([
      'error',
      expect.objectContaining({ code: 'rate_limited', message: 'Too many.', retryAfterMs: 900 }),
    ]);
  });

  test('unknown chunks and outputs of unknown calls do no harm', async () => {
    const { server, chat, settle, last } = world(sdk);
    void chat.sendMessage({ text: 'hi' });
    await settle();
    server.say(
      START,
      { type: 'hologram', beam: 1 } as unknown as Chunk,
      { type: 'tool-output-available', toolCallId: 'never-seen', output: 1 },
      ...text('t', 'Hi.'),
      FINISH,
      null,
    );
    await settle();
    expect([chat.status, last()]).toEqual(['ready', ['Hi.']]);
  });

  test('after a reload resumeStream() builds the message in progress from its start', async () => {
    const { server, chat, settle, last } = world(sdk, {}, { messages: [user('pay')] });
    server.say(START, ...announce('pay-1', 'process_payment', {}, PAY), ...ask('pay-1'));
    void chat.resumeStream();
    await settle();
    await settle(100);
    expect([chat.status, last()]).toEqual(['ready', [['pay-1', 'approval-requested']]]);
    await chat.addToolApprovalResponse({ id: 'approval-pay-1', approved: true });
    await settle();
    expect(server.framesOf('message')).toHaveLength(1);
    server.say(paid, FINISH, null);
    await settle();
    expect([chat.status, chat.messages.length]).toEqual(['ready', 2]);
  });

  test('a message that was shown before is taken up when all that was said of it is here: no card is gone for an instant', async () => {
    const card = part('pay-1', 'pay', PAY, {
      state: 'approval-requested',
      approval: { id: 'approval-pay-1' },
    });
    const w = world(sdk, {}, { messages: [{ id: 'a1', role: 'assistant', parts: [card] }] });
    w.server.tells = { running: 'a1', newest: 'e1-9' };
    void w.chat.resumeStream();
    await w.settle();
    const shown: unknown[] = [];
    for (const chunk of [
      START,
      ...text('t', 'Well'),
      ...announce('pay-1', 'pay', {}, PAY),
      ...ask('pay-1'),
    ]) {
      w.server.say(chunk);
      await w.settle(1);
      shown.push(w.last().at(-1));
    }
    expect(shown).toEqual(shown.map(() => ['pay-1', 'approval-requested']));
    expect(w.last()).toEqual(['Well', ['pay-1', 'approval-requested']]);
  });

  test('resumeStream() finds nothing when nothing runs', async () => {
    const { server, chat, settle } = world(sdk);
    server.tells = { running: null };
    void chat.resumeStream();
    await settle();
    expect([chat.status, chat.messages]).toEqual(['ready', []]);
  });
});

function failure(code: string, retryable: boolean): Chunk {
  return { type: 'data-error', data: { code, message: 'No.', retryable }, transient: true };
}

/** The message in a client frame. */
function answerIn(data: Record<string, unknown> | undefined): Message | undefined {
  const messages = data?.messages as Message[] | undefined;
  return messages?.[0];
}

function user(words: string): Message {
  return { id: 'u0', role: 'user', parts: [{ type: 'text', text: words }] };
}

describe('a dropped socket', () => {
  const script: (Chunk | null)[] = [
    START,
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', delta: 'thinking ' },
    { type: 'reasoning-delta', id: 'r', delta: 'hard' },
    { type: 'reasoning-end', id: 'r' },
    ...announce('w-1', 'get_weather', { city: 'Oslo' }, WEATHER),
    { type: 'tool-output-available', toolCallId: 'w-1', output: 'sunny' },
    ...announce('pay-1', 'process_payment', { amount: 5 }, PAY),
    ...ask('pay-1'),
  ];
  const rest: (Chunk | null)[] = [
    paid,
    ...announce('bgm-1', 'change_bgm', { track: 1 }, MUSIC),
    { type: 'tool-output-available', toolCallId: 'bgm-1', output: 'ok' },
    ...text('t', 'All ', 'is ', 'done.'),
    FINISH,
    null,
  ];

  async function converse(dropIn: number): Promise<{ world: World; runs: number }> {
    let runs = 0;
    const w = world(newestSdk, { executors: { change_bgm: () => `run ${++runs}` } });
    w.server.dropIn = dropIn;
    void w.chat.sendMessage({ text: 'go' });
    await w.settle();
    w.server.sayEach(...script);
    await w.settle(600);
    await w.settle();
    await w.decide('pay-1', true);
    w.server.sayEach(...rest.slice(0, 3));
    await w.settle(600);
    await w.settle();
    w.server.sayEach(...rest.slice(3));
    await w.settle(600);
    await w.settle();
    return { world: w, runs };
  }

  const frames = script.length + rest.length;

  test.each(Array.from({ length: frames }, (_, index) => index))(
    'before frame %i leaves the same message, every answer sent once and every tool run once',
    async (dropIn) => {
      const { world: w, runs } = await converse(dropIn);
      expect(w.server.sockets).toHaveLength(2);
      expect(brief(w.chat.messages.at(-1))).toEqual([
        'thinking hard',
        ['w-1', 'output-available', 'sunny'],
        ['pay-1', 'output-available', true, { ok: true }],
        ['bgm-1', 'output-available', 'ok'],
        'All is done.',
      ]);
      expect([w.chat.status, w.chat.messages.length, runs]).toEqual(['ready', 2, 1]);
      expect(w.server.frames.map(({ type }) => type)).toEqual(['message', 'message', 'tool_result']);
    },
  );
});

describe('the transport', () => {
  const sdk = newestSdk;

  test('what is typed before the connection is there is sent when it is', async () => {
    const { server, chat, settle, transport } = world(sdk);
    server.accepts = false;
    void chat.sendMessage({ text: 'early' });
    await settle();
    expect([server.frames, transport.connection.state.status]).toEqual([[], 'connecting']);
    server.accepts = true;
    server.sockets[0]?.end(1006);
    await settle(1_000);
    await settle();
    expect(server.framesOf('message')).toHaveLength(1);
    server.say(START, ...text('t', 'ok'), FINISH, null);
    await settle();
    expect(chat.status).toBe('ready');
  });

  test('a message that was lost with its socket is sent again, one that arrived is not', async () => {
    const lost = world(sdk);
    lost.transport.connect('chat-1');
    await lost.settle();
    lost.server.losesNext = true;
    void lost.chat.sendMessage({ text: 'lost' });
    await lost.settle(1_000);
    await lost.settle();
    expect(lost.server.framesOf('message')).toHaveLength(1);

    const arrived = world(sdk);
    arrived.server.onFrame = () => arrived.server.socket?.end(1006);
    void arrived.chat.sendMessage({ text: 'arrived' });
    await arrived.settle(1_000);
    await arrived.settle();
    expect(arrived.server.framesOf('message')).toHaveLength(1);
    arrived.server.say(START, ...text('t', 'ok'), FINISH, null);
    await arrived.settle();
    expect([arrived.chat.status, brief(arrived.chat.messages.at(-1))]).toEqual(['ready', ['ok']]);
  });

  test('[B24] an answer that was lost with its socket is sent again', async () => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'pay' });
    await w.settle();
    w.server.say(START, ...announce('pay-1', 'process_payment', {}, PAY), ...ask('pay-1'));
    await w.settle();
    w.server.losesNext = true;
    await w.decide('pay-1', true);
    await w.settle(1_000);
    await w.settle();
    expect(w.server.framesOf('message')).toHaveLength(2);
  });

  test('[B24] an answer in a message that somebody else asked for is not mistaken for one of ours', async () => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    const other: Chunk = { type: 'start', messageId: 'b1' };
    w.server.say(other, ...text('t', 'For another page.'), FINISH, null);
    await w.settle();
    expect([w.chat.status, w.chat.messages.length]).toEqual(['submitted', 1]);
    w.server.say(START, ...text('t', 'For this one.'), FINISH, null);
    await w.settle();
    expect([w.chat.status, w.last()]).toEqual(['ready', ['For this one.']]);
  });

  test('[R5] a question that waits to be asked again stays, and what it takes back does not come back', async () => {
    const resets: unknown[] = [];
    const w = world(sdk, { onReset: (messages) => resets.push(messages.map(({ id }) => id)) });
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    w.server.say(START, ...text('t', 'Hello.'), FINISH, null);
    await w.settle();
    w.server.history = [...w.chat.messages];
    w.server.restart();
    void w.chat.regenerate();
    await w.settle(1_000);
    await w.settle();
    expect([resets, w.chat.status]).toEqual([[['id-1']], 'submitted']);
    w.server.say({ type: 'start', messageId: 'a2' }, ...text('t', 'Hi!'), FINISH, null);
    await w.settle();
    expect([w.chat.status, w.last()]).toEqual(['ready', ['Hi!']]);
  });

  test('an answer that answers nothing fails its response, and is not sent again', async () => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'pay' });
    await w.settle();
    w.server.say(START, ...announce('pay-1', 'process_payment', {}, PAY), ...ask('pay-1'));
    await w.settle();
    w.server.onFrame = () =>
      w.server.tell({
        type: 'data-error',
        data: { code: 'nothing_to_answer', message: 'nothing', retryable: false },
        transient: true,
      });
    await w.decide('pay-1', true);
    expect([w.chat.status, w.chat.error]).toEqual([
      'error',
      expect.objectContaining({ code: 'nothing_to_answer' }),
    ]);
    await w.chat.sendMessage();
    expect(w.server.framesOf('message')).toHaveLength(2);
  });

  test('[B31a] a connection takes the floor from the one of the same page that it replaces, and the page keeps it', async () => {
    const floors: [boolean, boolean][] = [];
    const w = world(sdk, { onActive: (isHere, isFree) => floors.push([isHere, isFree]) });
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    w.server.say(START, ...text('t', 'Hello.'), FINISH, null);
    await w.settle();
    // The server has not seen the old socket close.
    w.server.tells = { floor: 'c1' };
    w.server.socket?.end(1006);
    await w.settle(1_000);
    expect(w.server.sockets).toHaveLength(2);
    expect(w.server.framesOf('floor')).toHaveLength(1);
    // Another page takes it, and leaves: only the first of these is somewhere else.
    for (const connectionId of ['c9', null]) {
      w.server.tell({ type: 'data-floor', data: { connectionId }, transient: true });
    }
    expect(floors).toEqual([
      [true, false],
      [true, false],
      [false, false],
      [false, true],
    ]);
    w.server.tells = { floor: 'c9' };
    w.server.socket?.end(1006);
    await w.settle(1_000);
    expect([w.server.sockets.length, w.server.framesOf('floor').length, floors.at(-1)]).toEqual([
      3,
      1,
      [false, false],
    ]);
  });

  test('a second window takes over: the response fails with the code, and nothing reconnects', async () => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    w.server.say(START, ...text('t', 'Hel'));
    w.server.socket?.end(4001);
    await w.settle(60_000);
    expect([w.chat.status, w.chat.error, w.server.sockets.length]).toEqual([
      'error',
      expect.objectContaining({ code: 'taken_over' }),
      1,
    ]);
    await w.chat.sendMessage({ text: 'still here' });
    expect([w.chat.error, w.server.sockets.length]).toEqual([
      expect.objectContaining({ code: 'taken_over' }),
      1,
    ]);
    w.transport.connect('chat-1');
    await w.settle();
    expect(w.server.sockets[1]?.url).toBe('ws://localhost:1/base/live?session=chat-1&last=e1-4');
  });

  test('a server that lost the log sends the conversation, and open cards stay answerable', async () => {
    const resets: Message[][] = [];
    let runs = 0;
    const w = world(sdk, {
      onReset: (messages) => {
        resets.push(messages);
        w.chat.messages = messages;
      },
      executors: { change_bgm: () => ++runs },
    });
    void w.chat.sendMessage({ text: 'pay' });
    await w.settle();
    w.server.say(START, ...text('t', 'One moment'));
    await w.settle();
    const message: Message = {
      id: 'a1',
      role: 'assistant',
      parts: [
        part('bgm-0', 'change_bgm', MUSIC, { state: 'output-available', input: {}, output: 1 }),
        part('bgm-1', 'change_bgm', MUSIC, { state: 'input-available', input: {} }),
        part('pay-1', 'process_payment', PAY, {
          state: 'approval-requested',
          input: {},
          approval: { id: 'approval-pay-1' },
        }),
      ],
    };
    w.server.history = [user('pay'), message];
    w.server.restart();
    await w.settle(1_000);
    await w.settle();
    expect([resets.length, w.chat.status, runs]).toEqual([1, 'ready', 1]);
    expect(w.server.framesOf('tool_result').map(({ toolCallId }) => toolCallId)).toEqual(['bgm-1']);
    await w.decide('pay-1', true);
    w.server.say(
      START,
      { type: 'tool-output-available', toolCallId: 'bgm-1', output: 1 },
      paid,
      FINISH,
      null,
    );
    await w.settle();
    expect([w.chat.status, w.last()]).toEqual([
      'ready',
      [
        ['bgm-0', 'output-available', 1],
        ['bgm-1', 'output-available', 1],
        ['pay-1', 'output-available', true, { ok: true }],
      ],
    ]);
  });

  test.each([
    ['of what it ends', [], ['text-end']],
    ['of what ended before it', [{ type: 'text-end', id: 't' }, FINISH, null], ['text-end', 'finish']],
  ] as [string, (Chunk | null)[], string[]][])(
    '[R5] the conversation that a reset brings is shown after the last word %s',
    async (_, rest, last) => {
      const read: unknown[] = [];
      const w = world(sdk, { onReset: (messages) => read.push(messages.map(brief)) });
      const stream = await w.transport.sendMessages({
        chatId: 'chat-1',
        messages: [user('count')],
        trigger: 'submit-message',
        messageId: undefined,
        abortSignal: undefined,
      });
      await w.settle();
      w.server.say(START, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'One ' });
      w.server.say(...rest);
      await w.settle();
      w.server.history = [user('count')];
      w.server.restart();
      await w.settle(1_000);
      await w.settle();
      // A chat writes with every chunk; this one has not come to any yet.
      for await (const { type } of stream as unknown as AsyncIterable<Chunk>) read.push(type);
      expect(read).toEqual(['start', 'text-start', 'text-delta', ...last, [['count']]]);
    },
  );

  test('a message that was answered while the log was lost does not wait for ever', async () => {
    const w = world(sdk, { onReset: (messages) => (w.chat.messages = messages) });
    w.server.say({ type: 'start', messageId: 'a0' }, ...text('t', 'x'), FINISH, null);
    w.transport.connect('chat-1');
    await w.settle();
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    w.server.history = [
      { id: 'id-1', role: 'user', parts: [{ type: 'text', text: 'hi' }] },
      { id: 'a1', role: 'assistant', parts: [{ type: 'text', text: 'Hello.' }] },
    ];
    w.server.restart();
    await w.settle(1_000);
    await w.settle();
    expect([w.chat.status, w.last(), w.server.framesOf('message').length]).toEqual(['ready', ['Hello.'], 1]);
  });

  test('a decision may leave while another message is read, and its chunks can be shown without a response', async () => {
    const pending: unknown[] = [];
    const w = world(sdk, { onPending: (what) => pending.push(what) });
    void w.chat.sendMessage({ text: 'pay' });
    await w.settle();
    w.server.say(START, ...announce('pay-1', 'process_payment', {}, PAY), ...ask('pay-1'));
    await w.settle();
    void w.chat.sendMessage({ text: 'a story' });
    await w.settle();
    w.server.say({ type: 'start', messageId: 'a2' }, ...text('t', 'Once'));
    await w.settle();
    w.transport.sendDecision('pay-1', true, 'fine');
    expect(w.server.framesOf('tool_result')).toEqual([
      { toolCallId: 'pay-1', status: 'approved', reason: 'fine', requestId: 'request-3' },
    ]);
    w.server.say(START, paid);
    await w.settle();
    expect(pending).toEqual([{ messageId: 'a1', isNew: false }]);
    expect(w.transport.takePending('a1')).toEqual([paid]);
    expect(w.transport.memory.wasSent('pay-1', 'decision')).toBe(true);
  });

  test('a confirmation is answered with sendToolResult', async () => {
    const w = world(sdk, { onPending: () => void w.chat.sendMessage() });
    void w.chat.sendMessage({ text: 'pay' });
    await w.settle();
    w.server.say(START, ...announce('confirm-1', 'adk_request_confirmation', {}, MUSIC));
    await w.settle();
    expect(w.chat.status).toBe('ready');
    w.transport.sendToolResult('confirm-1', { confirmed: true });
    expect(w.server.framesOf('tool_result')).toEqual([
      { toolCallId: 'confirm-1', result: { confirmed: true }, requestId: 'request-2' },
    ]);
    w.server.say(
      { type: 'tool-output-available', toolCallId: 'confirm-1', output: { confirmed: true } },
      ...announce('pay-1', 'process_payment', {}, PAY),
      paid,
      FINISH,
      null,
    );
    await w.settle();
    expect([w.chat.status, w.last()]).toEqual([
      'ready',
      [
        ['confirm-1', 'output-available', { confirmed: true }],
        ['pay-1', 'output-available', { ok: true }],
      ],
    ]);
  });

  test('a browser tool that throws fails with its message, and one that hangs with the time-out', async () => {
    const w = world(sdk, {
      executors: {
        breaks: () => {
          throw new Error('no speaker');
        },
        hangs: () => new Promise(() => undefined),
      },
      executorTimeoutMs: 5_000,
    });
    void w.chat.sendMessage({ text: 'music' });
    await w.settle();
    w.server.say(START, ...announce('b', 'breaks', {}, MUSIC), ...announce('h', 'hangs', {}, MUSIC));
    await w.settle();
    await w.settle(5_000);
    expect(w.server.framesOf('tool_result').map(({ toolCallId, error }) => [toolCallId, error])).toEqual([
      ['b', 'no speaker'],
      ['h', 'Timeout waiting for hangs result'],
    ]);
  });

  test('a browser tool is cancelled when its call is settled, and its result is not sent', async () => {
    let signal: AbortSignal | undefined;
    const w = world(sdk, {
      executors: {
        change_bgm: (_input, context) => {
          signal = context.signal;
          return new Promise((resolve) => signal?.addEventListener('abort', () => resolve('late')));
        },
      },
    });
    void w.chat.sendMessage({ text: 'music' });
    await w.settle();
    w.server.say(START, ...announce('bgm-1', 'change_bgm', {}, MUSIC));
    await w.settle();
    w.server.say({ type: 'tool-output-error', toolCallId: 'bgm-1', errorText: 'Interrupted' }, FINISH, null);
    await w.settle();
    expect([signal?.aborted, w.server.framesOf('tool_result')]).toEqual([true, []]);
  });

  test('a call that is settled in the replay is not run again', async () => {
    let runs = 0;
    const w = world(sdk, { executors: { change_bgm: () => ++runs } });
    w.server.say(
      START,
      ...announce('bgm-1', 'change_bgm', {}, MUSIC),
      { type: 'tool-output-available', toolCallId: 'bgm-1', output: 1 },
      ...announce('bgm-2', 'change_bgm', {}, MUSIC),
    );
    void w.chat.resumeStream();
    await w.settle();
    expect([runs, w.server.framesOf('tool_result').map(({ toolCallId }) => toolCallId)]).toEqual([
      1,
      ['bgm-2'],
    ]);
  });

  test('what a reloaded page shows as settled holds up no pause', async () => {
    const message: Message = {
      id: 'a1',
      role: 'assistant',
      parts: [
        part('w-1', 'get_weather', WEATHER, { state: 'output-available', input: {}, output: 'sunny' }),
        part('bgm-1', 'change_bgm', MUSIC, { state: 'output-available', input: {}, output: 1 }),
        part('pay-1', 'process_payment', PAY, {
          state: 'approval-requested',
          input: {},
          approval: { id: 'approval-pay-1' },
        }),
      ],
    };
    const w = world(sdk, {}, { messages: [user('pay'), message] });
    await w.decide('pay-1', true);
    w.server.say(START, paid, ...announce('pay-2', 'process_payment', {}, PAY), ...ask('pay-2'));
    await w.settle();
    expect([w.chat.status, w.last().slice(2)]).toEqual([
      'ready',
      [
        ['pay-1', 'output-available', true, { ok: true }],
        ['pay-2', 'approval-requested'],
      ],
    ]);
    await w.decide('pay-2', true);
    expect(brief(answerIn(w.server.framesOf('message')[1]))).toEqual([['pay-2', 'approval-responded', true]]);
  });

  test('a browser call that is announced again after its card was approved, and runs after a reload', async () => {
    let runs = 0;
    const w = world(sdk, { executors: { get_location: () => ++runs } });
    const [, again] = announce('loc-1', 'get_location', {}, LOCATE);
    w.server.say(START, ...announce('loc-1', 'get_location', {}, LOCATE), ...ask('loc-1'), again as Chunk);
    void w.chat.resumeStream();
    await w.settle();
    expect([runs, w.server.framesOf('tool_result').length, w.chat.status]).toEqual([1, 1, 'streaming']);
    w.server.say(located(1), FINISH, null);
    await w.settle();
    expect([runs, w.chat.status]).toEqual([1, 'ready']);
  });

  test.each([
    [4401, 'unauthorized', 'You are not signed in.'],
    [4403, 'forbidden', 'This page is not allowed to use the server.'],
  ])('close code %i fails what is read with %s', async (code, name, message) => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    w.server.accepts = false;
    w.server.socket?.end(code);
    // Where it tries once more, it is refused.
    w.server.socket?.end(1006);
    await w.settle();
    expect(w.chat.error).toEqual(expect.objectContaining({ code: name, message }));
  });

  test('of several answers one may be refused, and the response goes on', async () => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'pay both' });
    await w.settle();
    w.server.say(
      START,
      ...announce('pay-1', 'process_payment', {}, PAY),
      ...announce('pay-2', 'process_payment', {}, PAY),
      ...ask('pay-1'),
      ...ask('pay-2'),
    );
    await w.settle();
    await w.decide('pay-1', true);
    await w.decide('pay-2', true);
    w.server.tell(failure('answer_refused', false));
    w.server.say(
      paid,
      { type: 'tool-output-error', toolCallId: 'pay-2', errorText: 'Approval request timed out' },
      FINISH,
      null,
    );
    await w.settle();
    expect([w.chat.status, w.last()[1]]).toEqual([
      'ready',
      ['pay-2', 'output-error', true, 'Approval request timed out'],
    ]);
  });

  test('an answer that failed for a while is sent again with sendMessage()', async () => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'pay' });
    await w.settle();
    w.server.say(START, ...announce('pay-1', 'process_payment', {}, PAY), ...ask('pay-1'));
    await w.settle();
    w.server.onFrame = () => w.server.tell(failure('rate_limited', true));
    await w.decide('pay-1', true);
    expect(w.chat.error).toEqual(expect.objectContaining({ code: 'rate_limited' }));
    w.server.onFrame = () => undefined;
    void w.chat.sendMessage();
    await w.settle();
    expect(w.server.framesOf('message')).toHaveLength(3);
    w.server.say(paid, FINISH, null);
    await w.settle();
    expect([w.chat.status, w.last()]).toEqual(['ready', [['pay-1', 'output-available', true, { ok: true }]]]);
  });

  test('[B34] a message that a server refused because its session moves is answered by the next', async () => {
    const w = world(sdk);
    const { server, chat, settle } = w;
    const moves = () => {
      if (server.sockets.length === 1) server.tell(failure('moved', true));
    };
    server.onFrame = moves;
    void chat.sendMessage({ text: 'hi' });
    await settle();
    expect([chat.status, chat.error]).toEqual(['submitted', undefined]);
    await settle(500);
    server.say(START, ...text('t', 'Hi.'), FINISH, null);
    await settle();
    expect([chat.status, chat.error, w.last()]).toEqual(['ready', undefined, ['Hi.']]);
    const names = server.framesOf('message').map(({ requestId }) => requestId);
    expect(names).toEqual(['request-1', 'request-1']);
  });

  test('[B34] so are an approval, the output of a browser tool, and an interrupt, each under its name', async () => {
    const w = world(sdk, { executors: { change_bgm: () => 'ok' } });
    const { server, chat, settle } = w;
    const refused = new Set<unknown>();
    void chat.sendMessage({ text: 'go' });
    await settle();
    server.onFrame = ({ data }) => {
      if (refused.has(data.requestId)) return;
      refused.add(data.requestId);
      server.tell(failure('moved', true));
      server.socket?.end(4004);
    };
    server.say(START, ...announce('pay-1', 'process_payment', {}, PAY), ...ask('pay-1'));
    await settle();
    await w.decide('pay-1', true);
    await settle(500);
    server.say(paid, ...announce('bgm-1', 'change_bgm', {}, MUSIC));
    await settle();
    await settle(500);
    w.transport.interrupt();
    await settle(500);
    server.say({ type: 'tool-output-available', toolCallId: 'bgm-1', output: 'ok' }, FINISH, null);
    await settle();
    const sent = server.frames.map(({ type, data }) => [type, data.requestId]);
    expect(sent.slice(1)).toEqual([
      ['message', 'request-2'],
      ['message', 'request-2'],
      ['tool_result', 'request-3'],
      ['tool_result', 'request-3'],
      ['interrupt', 'request-4'],
      ['interrupt', 'request-4'],
    ]);
    expect([chat.status, chat.error]).toEqual(['ready', undefined]);
    expect(w.last()).toEqual([
      ['pay-1', 'output-available', true, { ok: true }],
      ['bgm-1', 'output-available', 'ok'],
    ]);
  });

  test('[B34] stop() discards a message that was refused because its session moves', async () => {
    const w = world(sdk);
    w.server.onFrame = () => w.server.tell(failure('moved', true));
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    await w.chat.stop();
    await w.settle(500);
    expect([w.server.frames.map(({ type }) => type), w.chat.status]).toEqual([['message'], 'ready']);
  });

  test('errors about the connection or about sound fail no response', async () => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    for (const code of ['bad_audio', 'unknown_frame', 'idle', 'nothing_to_answer']) {
      w.server.tell(failure(code, false));
    }
    w.server.say(START, ...text('t', 'Hi.'), FINISH, null);
    await w.settle();
    w.server.tell(failure('internal', true));
    expect([w.chat.status, w.last()]).toEqual(['ready', ['Hi.']]);
  });

  test('an error with a code from the future is an internal one, in its own words', async () => {
    const w = world(sdk);
    w.server.onFrame = () => w.server.tell(failure('too_odd', false));
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    expect(w.chat.error).toEqual(expect.objectContaining({ code: 'internal', message: 'No.' }));
  });

  test('too many messages for one absence are refused', async () => {
    const w = world(sdk);
    w.server.accepts = false;
    for (let count = 0; count < 64; count++) void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    await w.chat.sendMessage({ text: 'one more' });
    expect(w.chat.error).toEqual(expect.objectContaining({ code: 'busy' }));
  });

  test('there must be something to send', async () => {
    const w = world(sdk);
    const options = { chatId: 'c', messages: [], messageId: undefined, abortSignal: undefined };
    await expect(w.transport.sendMessages({ ...options, trigger: 'submit-message' })).rejects.toMatchObject({
      code: 'empty_message',
    });
  });

  test('an interruption while the connection is away is told when it is back, once', async () => {
    const w = world(sdk);
    w.transport.connect('chat-1');
    await w.settle();
    w.server.socket?.end(1006);
    w.transport.interrupt();
    await w.settle(1_000);
    w.server.socket?.end(1006);
    await w.settle(1_000);
    expect(w.server.framesOf('interrupt')).toHaveLength(1);
  });

  test('regenerate asks again with the user message, an edit with its id', async () => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    w.server.say(START, ...text('t', 'Hello.'), FINISH, null);
    await w.settle();
    void w.chat.regenerate();
    await w.settle();
    w.server.say({ type: 'start', messageId: 'a2' }, ...text('t', 'Hi!'), FINISH, null);
    await w.settle();
    void w.chat.sendMessage({ text: 'hi there', messageId: 'id-1' });
    await w.settle();
    expect(
      w.server
        .framesOf('message')
        .map(({ trigger, messageId, messages }) => [
          trigger,
          messageId,
          (messages as Message[]).map(({ id }) => id),
        ]),
    ).toEqual([
      ['submit-message', undefined, ['id-1']],
      ['regenerate-message', undefined, ['id-1']],
      ['submit-message', 'id-1', ['id-1']],
    ]);
  });

  test('another chat id is another session on a new socket', async () => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    w.server.say(START);
    w.transport.connect('chat-2');
    await w.settle();
    expect([w.server.sockets.map(({ url }) => new URL(url).search), w.chat.status]).toEqual([
      ['?session=chat-1', '?session=chat-2'],
      'ready',
    ]);
  });

  test('close() fails what is read as a loss of the network, which the SDK may resume from', async () => {
    const ends: unknown[] = [];
    const w = world(sdk, {}, { onFinish: ({ isDisconnect }) => ends.push(isDisconnect) });
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    w.transport.close();
    await w.settle();
    expect([w.chat.status, ends, w.network.listening, w.timers.pending]).toEqual(['error', [true], 0, 0]);
  });

  test('a frame that is too large fails its response and is not sent again', async () => {
    const w = world(sdk);
    w.server.onFrame = () => w.server.socket?.end(1009, 'too large');
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle(1_000);
    await w.settle();
    expect([w.chat.error, w.server.framesOf('message').length, w.server.sockets.length]).toEqual([
      expect.objectContaining({ code: 'too_large' }),
      1,
      2,
    ]);
  });

  test('stop() before anything left takes the message back and interrupts nothing', async () => {
    const w = world(sdk);
    w.server.accepts = false;
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    await w.chat.stop();
    w.server.accepts = true;
    w.server.sockets[0]?.end(1006);
    await w.settle(1_000);
    await w.settle();
    expect([w.transport.connection.state.status, w.server.frames]).toEqual(['live', []]);
  });

  test('a second resume takes the place of the first and stops nothing', async () => {
    const w = world(sdk);
    w.server.say(START, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'Hel' });
    void w.chat.resumeStream();
    await w.settle();
    void w.chat.resumeStream();
    await w.settle();
    expect(w.server.framesOf('interrupt')).toEqual([]);
  });

  test('stop() of a resumed response interrupts', async () => {
    const w = world(sdk);
    w.server.say(START, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'Hel' });
    void w.chat.resumeStream();
    await w.settle();
    await w.chat.stop();
    await w.settle();
    expect(w.server.framesOf('interrupt')).toHaveLength(1);
  });

  test('[B32] a user message and a rewind of another page reach onData, those that this page caused do not', async () => {
    const reported: unknown[] = [];
    const w = world(sdk, {
      onData: (chunk) => {
        if (chunk.type === 'data-message') reported.push([chunk.type, chunk.data.message.id]);
        if (chunk.type === 'data-rewind') reported.push([chunk.type, chunk.data.messageId]);
      },
    });
    const userMessage = (id: string): Chunk => ({
      type: 'data-message',
      data: { message: { id, role: 'user', parts: [{ type: 'text', text: 'hi' }] } },
      transient: true,
    });
    const rewind = (messageId: string): Chunk => ({
      type: 'data-rewind',
      data: { messageId },
      transient: true,
    });
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    w.server.say(userMessage('id-1'), START, ...text('t', 'Hello.'), FINISH, null);
    await w.settle();
    void w.chat.regenerate();
    await w.settle();
    w.server.say(rewind('id-1'), userMessage('id-1'), { type: 'start', messageId: 'a2' });
    w.server.say(...text('t', 'Hi!'), FINISH, null);
    await w.settle();
    expect([reported, w.transport.isOutOfOrder, w.last()]).toEqual([[], false, ['Hi!']]);

    w.server.say(rewind('id-1'), userMessage('theirs'));
    await w.settle();
    expect(reported).toEqual([
      ['data-rewind', 'id-1'],
      ['data-message', 'theirs'],
    ]);
    expect(w.transport.isOutOfOrder).toBe(false);
  });

  test('a user message of another page that comes before the answer to one of this page is out of order', async () => {
    const w = world(sdk);
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    const theirs: Message = { id: 'theirs', role: 'user', parts: [] };
    w.server.say({ type: 'data-message', data: { message: theirs }, transient: true });
    await w.settle();
    expect(w.transport.isOutOfOrder).toBe(true);
    w.transport.resync();
    expect(w.transport.isOutOfOrder).toBe(false);
  });

  test('data that is told and not kept reaches onData of the chat and of the transport', async () => {
    const heard: string[] = [];
    const w = world(
      sdk,
      { onData: (chunk) => heard.push(chunk.type) },
      { onData: ({ type }) => heard.push(`chat ${type}`) },
    );
    void w.chat.sendMessage({ text: 'hi' });
    await w.settle();
    const texts: Chunk = {
      type: 'data-transcript',
      data: { role: 'user', text: 'hello', finished: true },
      transient: true,
    };
    w.server.say(texts, START, texts, FINISH, null);
    await w.settle();
    w.server.say(texts);
    await w.settle();
    expect(heard.sort()).toEqual([
      'chat data-transcript',
      'chat data-transcript',
      'data-transcript',
      'data-transcript',
      'data-transcript',
    ]);
  });
});

function part(
  toolCallId: string,
  name: string,
  toolMetadata: object,
  fields: object,
): Message['parts'][number] {
  return { type: `tool-${name}`, toolCallId, toolMetadata, ...fields } as Message['parts'][number];
}
