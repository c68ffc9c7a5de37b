import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Chunk, Message } from '../../src/protocol/index.ts';
import { brief } from '../client/support/chat.ts';
import { announce, ask, FakeServer, PAY, text } from '../client/support/server.ts';
import { BarePage } from './support/bare-page.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});

afterEach(() => {
  vi.useRealTimers();
});

const pass = () => vi.advanceTimersByTimeAsync(1_000);

const says = (id: string, role: Message['role'], words: string): Message => ({
  ...{ id, role },
  parts: [{ type: 'text', text: words }],
});

/** The chunks that watchers get when another page sends a message and is answered. */
const ELSEWHERE: (Chunk | null)[] = [
  { type: 'data-message', data: { message: says('theirs', 'user', 'And?') }, transient: true },
  { type: 'start', messageId: 'b1', messageMetadata: {} },
  ...text('u', 'Two.'),
  { type: 'finish', finishReason: 'stop' },
  null,
];

function pageOf(server: FakeServer, messages: Message[]): BarePage {
  const { WebSocket } = server;
  return new BarePage({ mode: 'bidi', url: 'http://localhost:1', sessionId: 'chat', messages, WebSocket });
}

const shown = ({ messages }: BarePage) => messages.map((message) => [message.id, ...brief(message)]);

test('[B32] [R5] what is said elsewhere right behind a reset is shown, also when the reset ends an answer that is being read', async () => {
  const server = new FakeServer();
  const page = pageOf(server, []);
  try {
    void page.conversation.chat.sendMessage(says('mine', 'user', 'Well?'));
    await pass();
    server.say({ type: 'start', messageId: 'a1' }, { type: 'text-start', id: 't' });
    server.say({ type: 'text-delta', id: 't', delta: 'One ' });
    await pass();
    expect([page.isReady, shown(page).at(-1)]).toEqual([false, ['a1', 'One ']]);
    const greet = server.greet.bind(server);
    server.greet = (socket) => {
      greet(socket);
      // In one go with the reset: the chat has not yet read the end of the answer.
      server.say(...ELSEWHERE);
    };
    server.history = [says('mine', 'user', 'Well?'), says('a1', 'assistant', 'One two.')];
    server.restart();
    await pass();
    await pass();
    expect(shown(page)).toEqual([
      ['mine', 'Well?'],
      ['a1', 'One two.'],
      ['theirs', 'And?'],
      ['b1', 'Two.'],
    ]);
  } finally {
    page.close();
  }
});

test('[R5] a card that ended is not opened again by the chunks before that, also when they are taken up right before the reset', async () => {
  const server = new FakeServer();
  const page = pageOf(server, []);
  try {
    // The word that the question arrived is lost with the socket: the greeting of the next one brings it.
    server.receive = ({ type, data }) => {
      if (type === 'ping') return;
      server.tells = { received: [{ requestId: String(data.requestId), messageId: 'a1' }] };
    };
    void page.conversation.chat.sendMessage(says('mine', 'user', 'Pay.'));
    await pass();
    server.say({ type: 'start', messageId: 'a1' }, ...announce('pay-1', 'process_payment', {}, PAY));
    server.say(...ask('pay-1'), { type: 'finish', finishReason: 'tool-calls' }, null);
    await pass();
    const ended: Message['parts'][number] = {
      ...{ type: 'tool-process_payment', toolCallId: 'pay-1' },
      ...{ state: 'output-error', input: {}, errorText: 'Interrupted' },
    };
    server.history = [says('mine', 'user', 'Pay.'), { id: 'a1', role: 'assistant', parts: [ended] }];
    server.restart();
    await pass();
    await pass();
    expect([page.isReady, page.messages]).toEqual([true, server.history]);
  } finally {
    page.close();
  }
});

test('[B32a] what is said elsewhere stands before its answer, also right behind more of an earlier one', async () => {
  const server = new FakeServer();
  const before = [
    says('a1', 'assistant', 'One.'),
    says('mine', 'user', 'Well?'),
    says('a2', 'assistant', 'Well.'),
  ];
  const page = pageOf(server, before);
  try {
    await pass();
    server.say(
      { type: 'start', messageId: 'a1' },
      ...text('t', 'And more.'),
      { type: 'finish', finishReason: 'stop' },
      null,
      ...ELSEWHERE,
    );
    await pass();
    expect(shown(page)).toEqual([
      ['a1', 'One.', 'And more.'],
      ['mine', 'Well?'],
      ['a2', 'Well.'],
      ['theirs', 'And?'],
      ['b1', 'Two.'],
    ]);
  } finally {
    page.close();
  }
});
