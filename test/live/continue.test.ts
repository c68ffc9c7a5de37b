import type { LlmResponse } from '@google/adk';
import { FinishReason } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { CONTINUE } from '../../src/models/for-server.ts';
import type { Message } from '../../src/protocol/index.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { say } from '../support/harness.ts';
import { decision, type LiveHarness, live } from '../support/live.ts';
import { calls, hanging, partial, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';
import type { TestSocket } from '../support/socket.ts';

const MODES = ['SSE', 'live', 'turn'] as const;
type Mode = (typeof MODES)[number];

const WORDS = 'One two ';
const PAY = { id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
const driverOf = (mode: Mode) => (mode === 'turn' ? { driver: 'turn' as const } : {});

const finished = (finishReason: FinishReason): LlmResponse => ({ ...text(WORDS), finishReason });

/** What the model does in an answer that is cut, and what is stored of that. */
const CAUSES: Record<string, { turn: ScriptedTurn; marks: Message['metadata']; isStopped?: true }> = {
  length: { turn: [partial(WORDS), finished(FinishReason.MAX_TOKENS)], marks: { finishReason: 'length' } },
  'content filter': {
    turn: [partial(WORDS), finished(FinishReason.SAFETY)],
    marks: { finishReason: 'content-filter' },
  },
  'error of the provider': { turn: [partial(WORDS), new Error('gone')], marks: { failed: true } },
  'stop by the person': { turn: hanging(partial(WORDS)).turn, marks: { interrupted: true }, isStopped: true },
};

/** A model that waits in the middle of its answer. */
function waiting(first = WORDS, whole = first): { turn: ScriptedTurn; release: () => void } {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const turn: ScriptedTurn = async function* () {
    yield partial(first);
    await released;
    yield text(whole);
  };
  return { turn, release: () => release() };
}

const sessionIn = async (made: Pick<LiveHarness, 'get'>) =>
  (await (await made.get('/sessions/chat-1')).json()) as { title: string; messages: Message[] };

const lastIn = async (made: Pick<LiveHarness, 'get'>) => (await sessionIn(made)).messages.at(-1);

/** The texts of a message, part by part. */
const textsOf = (message: Message | undefined) =>
  message?.parts.map((part) => (part.type === 'text' ? part.text : part.type));

/** What the model was shown last, without calls. */
const shownTo = ({ model }: Pick<LiveHarness, 'model'>) =>
  model.lastContents.map(({ role, parts }) => [role, parts?.map((part) => part.text ?? '').join('')]);

/** Asks something, and cuts the answer. */
async function cut(mode: Mode, made: LiveHarness, isStopped = false): Promise<string> {
  if (mode === 'SSE') {
    const watcher = isStopped ? await made.connect('?session=chat-1') : null;
    const posted = made.post(say('count'));
    await watcher?.chunk('text-delta');
    if (isStopped)
      await made.duologue.fetch(new Request('http://localhost/sessions/chat-1/stop', { method: 'POST' }));
    await posted;
    watcher?.close();
  } else {
    const socket = await made.connect('?session=chat-1');
    socket.say('count');
    await socket.chunk('text-delta');
    if (isStopped) socket.send('interrupt');
    await socket.done();
    socket.close();
  }
  return (await lastIn(made))?.id ?? '';
}

const continuation = (messageId: string, requestId?: string) => ({
  id: 'chat-1',
  messages: [],
  trigger: 'continue-message',
  messageId,
  ...(requestId === undefined ? {} : { requestId }),
});

const continueOver = (socket: TestSocket, messageId: string, requestId?: string) =>
  socket.send('message', { trigger: 'continue-message', messageId, ...(requestId ? { requestId } : {}) });

/** Continues a message; returns the chunks of the response. */
async function goOn(mode: Mode, made: LiveHarness, messageId: string) {
  if (mode === 'SSE') return (await made.post(continuation(messageId))).chunks;
  const socket = await made.connect('?session=chat-1');
  const before = socket.chunks.length;
  continueOver(socket, messageId);
  await socket.done();
  socket.close();
  return socket.chunks.slice(before);
}

describe.each(MODES)('an answer that was cut is continued, mode %s', (mode) => {
  it.each(Object.keys(CAUSES))('[S29] [S31] [S32] [C12] in the same message, after: %s', async (cause) => {
    const { turn, marks, isStopped } = CAUSES[cause] ?? { turn: [], marks: {} };
    const made = await live([turn, [partial('three '), text('three four.')]], [], driverOf(mode));
    const messageId = await cut(mode, made, isStopped);
    const before = await lastIn(made);
    expect(before?.metadata).toMatchObject({ ...marks });
    const chunks = await goOn(mode, made, messageId);
    expect(chunks.filter(({ type }) => type !== 'text-delta')).toEqual([
      { type: 'start', messageId },
      { type: 'text-start', id: '1' },
      { type: 'text-end', id: '1' },
      expect.objectContaining({ type: 'finish', finishReason: 'stop' }),
    ]);
    const { messages, title } = await sessionIn(made);
    expect(title).toBe('count');
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    const [, after] = messages;
    expect(textsOf(after)).toEqual([WORDS, 'three four.']);
    for (const mark of ['interrupted', 'cutOff', 'failed'] as const)
      expect(after?.metadata?.[mark] ?? false).toBe(false);
    expect(after?.metadata?.finishReason ?? 'stop').toBe('stop');
    expect(after?.metadata?.createdAt).toBe(before?.metadata?.createdAt);
    expect(shownTo(made)).toEqual([
      ['user', 'count'],
      ['model', WORDS],
      ['user', CONTINUE],
    ]);
  });

  it('[S29] [R7] after a crash of the server, and can be cut and continued again', async () => {
    const store = createMemoryStore();
    const clock = new ManualClock();
    const { turn, release } = waiting();
    const before = await live([turn], [], { store, clock, ...driverOf(mode) });
    const socket = await before.connect('?session=chat-1');
    if (mode === 'SSE') void before.post(say('count')).catch(() => undefined);
    else socket.say('count');
    await socket.chunk('text-delta');
    await settled();
    clock.advance(1000);
    await settled();
    // The first process writes nothing more: for the next one it is dead.
    const script = [[finished(FinishReason.MAX_TOKENS)], [text('five.')], [text('Six.')]];
    const after = await live(script, [], { store, ...driverOf(mode) });
    const message = await lastIn(after);
    const messageId = message?.id ?? '';
    release();
    await socket.chunk('data-error');
    expect(message?.metadata).toMatchObject({ interrupted: true, cutOff: true });
    await goOn(mode, after, messageId);
    const again = await lastIn(after);
    expect(again?.metadata).toMatchObject({ interrupted: false, cutOff: false, finishReason: 'length' });
    await goOn(mode, after, messageId);
    expect(textsOf(await lastIn(after))).toEqual([WORDS, WORDS, 'five.']);
    expect((await lastIn(after))?.metadata).toMatchObject({ finishReason: 'stop' });
    expect(shownTo(after)).toEqual([
      ['user', 'count'],
      ['model', WORDS],
      ['user', CONTINUE],
      ['model', WORDS],
      ['user', CONTINUE],
    ]);
    // To ask the question anew takes the instructions back, too.
    await after.post({ ...say('count'), trigger: 'regenerate-message' });
    expect(shownTo(after)).toEqual([['user', 'count']]);
  });

  it('[S31a] with calls and approvals as in any answer', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const script = [[finished(FinishReason.MAX_TOKENS)], [calls(PAY)], [text('Paid.')]];
    const made = await live(script, [payment], driverOf(mode));
    const messageId = await cut(mode, made);
    if (mode === 'SSE') {
      const { chunks } = await made.post(continuation(messageId));
      const card = chunks.find((chunk) => chunk.type === 'tool-approval-request');
      expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' });
      if (card) await made.post({ id: 'chat-1', ...decision(card) });
    } else {
      const socket = await made.connect('?session=chat-1');
      continueOver(socket, messageId);
      socket.send('message', decision(await socket.chunk('tool-approval-request')));
      await socket.done();
    }
    expect(textsOf(await lastIn(made))).toEqual([WORDS, 'tool-process_payment', 'Paid.']);
    expect(log).toHaveLength(1);
  });

  it('[S32] a second failure is marked, and the message can be continued once more', async () => {
    const script = [
      [finished(FinishReason.MAX_TOKENS)],
      [partial('three '), new Error('gone')],
      [text('four.')],
    ];
    const made = await live(script, [], driverOf(mode));
    const messageId = await cut(mode, made);
    expect((await goOn(mode, made, messageId)).at(-1)).toMatchObject({ finishReason: 'error' });
    expect((await lastIn(made))?.metadata).toMatchObject({ failed: true });
    await goOn(mode, made, messageId);
    expect(textsOf(await lastIn(made))).toEqual([WORDS, 'three ', 'four.']);
    expect((await lastIn(made))?.metadata).toMatchObject({ failed: false });
  });
});

describe('what is not continued', () => {
  const REFUSED = { code: 'nothing_to_continue', retryable: false };

  it.each(['SSE', 'BIDI'])(
    '[S30] [S30a] [E1] over %s: an answer that is whole, unknown, older or empty',
    async (wire) => {
      const script = [[finished(FinishReason.MAX_TOKENS)], [text('Hello.')], [new Error('gone')]];
      const made = await live(script);
      const older = await cut('SSE', made);
      await made.post(say('hi'));
      const whole = (await lastIn(made))?.id ?? '';
      const refuse = async (messageId: string) => {
        if (wire === 'SSE') {
          const { status, json } = await made.post(continuation(messageId));
          expect([status, json]).toEqual([409, { error: expect.objectContaining(REFUSED) }]);
          return;
        }
        const socket = await made.connect('?session=chat-1');
        continueOver(socket, messageId, 'request-1');
        expect((await socket.chunk('data-error')).data).toMatchObject({ ...REFUSED, requestId: 'request-1' });
        socket.close();
      };
      for (const messageId of [older, whole, 'unknown', 'user-hi']) await refuse(messageId);
      await made.post(say('again'));
      await refuse((await lastIn(made))?.id ?? '');
      expect(made.model.requests).toHaveLength(3);
    },
  );

  it('[S30a] an answer of no session, and a request without the id of a message', async () => {
    const made = await live([]);
    expect((await made.post(continuation('unknown'))).json).toMatchObject({ error: REFUSED });
    const { messageId: _, ...nameless } = continuation('');
    expect((await made.post(nameless)).json).toMatchObject({ error: { code: 'bad_request' } });
    const socket = await made.connect();
    socket.send('message', { trigger: 'continue-message' });
    expect((await socket.chunk('data-error')).data.code).toBe('bad_request');
  });

  it('[S30a] an answer while the agent is at work', async () => {
    const made = await live([[finished(FinishReason.MAX_TOKENS)], hanging(partial('three ')).turn]);
    const messageId = await cut('live', made);
    const socket = await made.connect('?session=chat-1');
    continueOver(socket, messageId);
    await socket.chunk('text-delta');
    continueOver(socket, messageId);
    expect((await socket.chunk('data-error')).data.code).toBe('nothing_to_continue');
    socket.send('interrupt');
    await socket.done();
    expect(textsOf(await lastIn(made))).toEqual([WORDS, 'three ']);
    expect((await lastIn(made))?.metadata).toMatchObject({ interrupted: true, finishReason: 'stop' });
  });
});

describe('requests to continue', () => {
  it('[S29] [B24] [S19] with a name that was accepted are taken once, also after a restart', async () => {
    const store = createMemoryStore();
    const made = await live([[finished(FinishReason.MAX_TOKENS)], [text('three.')]], [], { store });
    const messageId = await cut('live', made);
    const { chunks: first } = await made.post(continuation(messageId, 'request-1'));
    expect(first[0]).toMatchObject({ type: 'data-accepted', data: { requestId: 'request-1', messageId } });
    const socket = await made.connect('?session=chat-1');
    continueOver(socket, messageId, 'request-1');
    expect((await socket.chunk('data-accepted')).data).toEqual({ requestId: 'request-1', messageId });
    for (const server of [made, await live([], [], { store })]) {
      const { chunks } = await server.post(continuation(messageId, 'request-1'));
      const words = chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []));
      expect(words.join('')).toBe('three.');
    }
    expect(made.model.requests).toHaveLength(2);
  });

  it.each(['live', 'turn'] as const)(
    '[S31] [B32] are heard on other pages, and messages wait, driver %s',
    async (driver) => {
      const { turn, release } = waiting('three ', 'three four.');
      const made = await live([[finished(FinishReason.MAX_TOKENS)], turn, [text('Hello.')]], [], { driver });
      const messageId = await cut(driver, made);
      const protocols = ['duologue.v2'];
      const other = await made.connect('?session=chat-1', { protocols });
      const socket = await made.connect('?session=chat-1', { protocols });
      continueOver(socket, messageId);
      await socket.chunk('text-delta');
      socket.say('hi');
      // A page that comes in the middle is given what was written, and hears the rest.
      const late = await made.connect('?session=chat-1&last=unknown', { protocols });
      const { data } = await late.chunk('data-reset');
      expect(data.messages.at(-1)?.id).toBe(messageId);
      expect(textsOf(data.messages.at(-1))).toEqual([WORDS]);
      release();
      for (const page of [other, socket, late]) {
        await page.done(2);
        const starts = page.chunks.flatMap((chunk) => (chunk.type === 'start' ? [chunk.messageId] : []));
        expect(starts[0]).toBe(messageId);
        expect(starts).toHaveLength(2);
      }
      expect((await sessionIn(made)).messages.map(textsOf)).toEqual([
        ['count'],
        [WORDS, 'three four.'],
        ['hi'],
        ['Hello.'],
      ]);
    },
  );
});
