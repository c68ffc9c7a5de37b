import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { type Harness, harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, calls, partial, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';

const CUT_OFF = [{ type: 'text', text: 'One two ', state: 'done' }];
const PAY = { id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };

/** A model that says something and then nothing more, until it is released. */
function hanging(...before: Parameters<typeof partial>[0][]): { turn: ScriptedTurn; release: () => void } {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const turn: ScriptedTurn = async function* () {
    for (const piece of before) yield partial(piece);
    await released;
  };
  return { turn, release: () => release() };
}

const sessionIn = async (made: Pick<Harness, 'get'>, id = 'chat-1') =>
  (await (await made.get(`/sessions/${id}`)).json()) as { messages: Message[]; isRunning: boolean };

/** What is to be seen of messages, without ids and times. */
const seen = ({ messages }: { messages: Message[] }) =>
  messages.map(({ role, parts, metadata }) => ({ role, parts, interrupted: metadata?.interrupted }));

async function folderOfItsOwn(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'duologue-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const asked = (words: string) => ({
  role: 'user',
  parts: [{ type: 'text', text: words }],
  interrupted: undefined,
});

describe('a server that shuts down in the middle of an answer', () => {
  it('[B22] keeps what was said over BIDI, marked as cut off, and tells so before it closes', async () => {
    const folder = await folderOfItsOwn();
    const clock = new ManualClock();
    const { turn, release } = hanging('One ', 'two ');
    const before = await live([turn], [], { clock, store: await openSqliteStore(folder) });
    const socket = await before.connect('?session=chat-1');
    socket.say('count');
    await socket.chunk('text-start');
    const closed = before.served.close();
    await settled();
    clock.advance(2000);
    expect(await socket.closed()).toBe(1012);
    release();
    await settled();
    clock.advance(5000);
    await closed;
    expect(socket.chunks.at(-1)).toMatchObject({
      type: 'finish',
      finishReason: 'other',
      messageMetadata: { interrupted: true, cutOff: true },
    });
    expect(socket.dones).toBe(1);
    const after = await live([[text('Hello.')]], [], { store: await openSqliteStore(folder) });
    expect(seen(await sessionIn(after))).toEqual([
      asked('count'),
      { role: 'assistant', parts: CUT_OFF, interrupted: true },
    ]);
    // The model knows what it said.
    const again = await after.connect('?session=chat-1');
    again.say('hi');
    await again.done();
    expect(after.model.lastContents.map(({ role, parts }) => [role, parts?.[0]?.text])).toEqual([
      ['user', 'count'],
      ['model', 'One two '],
      ['user', 'hi'],
    ]);
  });

  it('[B22a] a message whose card waits is not marked: it goes on when it is answered', async () => {
    const folder = await folderOfItsOwn();
    const { payment } = fourTools();
    const before = await live([[calls(PAY)]], [payment], { store: await openSqliteStore(folder) });
    const socket = await before.connect('?session=chat-1');
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    await before.served.close();
    const after = await live([[text('Paid.')]], [payment], { store: await openSqliteStore(folder) });
    const again = await after.connect('?session=chat-1');
    again.send('message', decision(card));
    await again.done();
    const [, message] = (await sessionIn(after)).messages;
    expect(message?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Paid.' });
    expect(message?.metadata?.interrupted).toBeUndefined();
  });
});

describe('a server that dies in the middle of an answer', () => {
  for (const mode of ['BIDI', 'SSE'] as const) {
    it(`[R7a] [R7d] what was said over ${mode} up to the last second is there after the restart, marked as interrupted`, async () => {
      const store = createMemoryStore();
      const clock = new ManualClock();
      const { turn, release } = hanging('One ', 'two ');
      const before = await live([turn], [], { store, clock });
      const socket = await before.connect('?session=chat-1');
      if (mode === 'BIDI') socket.say('count');
      else void before.post(say('count')).catch(() => undefined);
      await socket.chunk('text-start');
      await settled();
      clock.advance(1000);
      await socket.chunk('text-delta');
      // A client that reads the answer in progress gets it from its chunks, not twice.
      expect(seen(await sessionIn(before))).toEqual([asked('count')]);

      // The first process writes nothing more: for the next one it is dead.
      const after = await live([[text('Hello.')], [text('Three.')]], [], { store });
      const { messages, isRunning } = await sessionIn(after);
      expect(isRunning).toBe(false);
      expect(seen({ messages })).toEqual([
        asked('count'),
        { role: 'assistant', parts: CUT_OFF, interrupted: true },
      ]);
      const back = await after.connect(`?session=chat-1&last=${socket.lastId}`);
      expect((await back.chunk('data-reset')).data.messages).toEqual(messages);
      if (mode === 'BIDI') {
        back.say('hi');
        await back.done();
      } else await after.post(say('hi'));
      expect(after.model.lastContents.map(({ role, parts }) => [role, parts?.[0]?.text])).toEqual([
        ['user', 'count'],
        ['model', 'One two '],
        ['user', 'hi'],
      ]);
      // It was not, and hears that it has lost the session.
      release();
      expect(await socket.chunk('data-error')).toMatchObject({ data: { code: 'moved' } });
    });
  }

  it('[R7] words that ADK had kept whole are whole, and not marked', async () => {
    const store = createMemoryStore();
    const key = { app: 'duologue', user: 'live_user', id: 'chat-1', fence: 0 };
    const first = harness([[text('One two three.')]], [], { store });
    await first.post(say('count'));
    const [, message] = (await sessionIn(first)).messages;
    await store.putMessage((await store.own(key)) ?? key, {
      id: message?.id ?? '',
      role: 'assistant',
      metadata: { createdAt: 1 },
      parts: [
        { type: 'reasoning', id: '0', text: 'Counting', state: 'streaming' },
        { type: 'text', text: 'One two ', state: 'streaming' },
      ],
    });
    const after = harness([], [], { store });
    expect(seen(await sessionIn(after))[1]).toEqual({
      role: 'assistant',
      parts: [
        { type: 'reasoning', id: '0', text: 'Counting', state: 'done' },
        { type: 'text', text: 'One two three.', state: 'done' },
      ],
      interrupted: undefined,
    });
  });

  it('[R7a] the text and the reasoning that were being written have ended, and the message is marked', async () => {
    const store = createMemoryStore();
    const key = { app: 'duologue', user: 'live_user', id: 'chat-1', fence: 0 };
    await store.createSession(key, {});
    const owned = (await store.own(key)) ?? key;
    await store.putMessage(owned, { id: 'q', role: 'user', parts: [{ type: 'text', text: 'count' }] });
    const parts: Message['parts'] = [
      { type: 'reasoning', id: '0', text: 'Counting', state: 'streaming' },
      { type: 'text', text: 'One two ', state: 'streaming' },
    ];
    await store.putMessage(owned, { id: 'a', role: 'assistant', metadata: { createdAt: 1 }, parts });
    const after = harness([], [], { store });
    expect(seen(await sessionIn(after))).toEqual([
      asked('count'),
      { role: 'assistant', parts: parts.map((part) => ({ ...part, state: 'done' })), interrupted: true },
    ]);
  });

  it('[T15] a tool inside it that was running has an unknown outcome, for the person and the model', async () => {
    const store = createMemoryStore();
    const clock = new ManualClock();
    const slow = defineTool({
      name: 'slow',
      description: 'Never ends',
      parameters: z.object({}),
      execute: () => new Promise(() => undefined),
    });
    const before = harness([[call('slow', {}, 'call-s')]], [slow], { store, clock });
    void before.post(say('go')).catch(() => undefined);
    await settled();
    clock.advance(1000);
    await settled();
    const after = harness([[text('Hello.')]], [slow], { store });
    const [, message] = (await sessionIn(after)).messages;
    expect(message?.metadata?.interrupted).toBe(true);
    expect(message?.parts).toMatchObject([
      { type: 'tool-slow', state: 'output-error', errorText: expect.stringContaining('outcome is unknown') },
    ]);
    await after.post(say('hi'));
    expect(JSON.stringify(after.model.lastContents)).toContain('The outcome is unknown');
  });

  it('[S11] a question without an answer can be asked again, by its id or by regenerating, in both modes', async () => {
    const store = createMemoryStore();
    const { turn } = hanging('One ');
    const before = harness([turn], [], { store, clock: new ManualClock() });
    void before.post(say('count')).catch(() => undefined);
    await settled();
    const user = { id: 'user-count', role: 'user', parts: [{ type: 'text', text: 'count' }] };
    const ways = [
      { trigger: 'submit-message', messageId: 'user-count' },
      { trigger: 'regenerate-message' },
      { trigger: 'submit-message' },
    ];
    const expected = [
      asked('count'),
      { role: 'assistant', parts: [{ type: 'text', text: 'One.', state: 'done' }], interrupted: undefined },
    ];
    const alone = [asked('count')];
    for (const way of ways) {
      for (const mode of ['SSE', 'BIDI']) {
        const after = await live([[text('One.')]], [], { store: await copyOf(store) });
        expect(seen(await sessionIn(after))).toEqual(alone);
        if (mode === 'SSE') await after.post({ id: 'chat-1', messages: [user], ...way });
        else {
          const socket = await after.connect('?session=chat-1');
          socket.send('message', { messages: [user], ...way });
          await socket.done();
        }
        expect(seen(await sessionIn(after))).toEqual(expected);
        expect(after.model.lastContents).toEqual([{ role: 'user', parts: [{ text: 'count' }] }]);
      }
    }
  });

  it('[B23a] an answer that nobody came back to is finished, and kept', async () => {
    const clock = new ManualClock();
    const { turn, release } = hanging('One ', 'two ');
    const server = await live([turn], [], { clock });
    const socket = await server.connect('?session=chat-1');
    socket.say('count');
    await socket.chunk('text-start');
    await settled();
    socket.close();
    await socket.closed();
    await settled();
    clock.advance(61_000);
    await settled();
    release();
    await settled();
    const [, answer] = (await sessionIn(server)).messages;
    expect(answer?.metadata).not.toHaveProperty('interrupted');
    expect(JSON.stringify(answer?.parts)).toContain('One two ');
  });
});

describe('a call that a dead server left behind', () => {
  const key = { app: 'duologue', user: 'live_user', id: 'chat-1', fence: 0 };
  const part = { toolCallId: 'call-a', input: PAY.args };
  type Move = Parameters<ReturnType<typeof createMemoryStore>['moveCall']>[1];

  /** Asks for a payment, and stores `move` as the last write of the server before it dies. Returns a way to start the next server. */
  async function leftBehind(move: Omit<Move, 'id'> | null, options: Parameters<typeof harness>[2] = {}) {
    const store = createMemoryStore();
    const clock = new ManualClock();
    const log: string[] = [];
    const { payment } = fourTools(log);
    const before = harness([[calls(PAY)]], [payment], { store, clock, ...options });
    const { chunks } = await before.post(say('pay'));
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' });
    const owned = (await store.own(key)) ?? key;
    if (move) expect(await store.moveCall(owned, { id: PAY.id, ...move }, null)).not.toBeNull();
    const restart = () => harness([[text('So.')]], [payment], { store, clock, ...options });
    return { clock, log, restart };
  }

  const auditOf = async (made: Harness) =>
    (await (await made.get('/approvals/chat-1')).text())
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).kind);

  it('[R7] [T4a] is shown with the stored denial and its reason, and the agent is told', async () => {
    const move = { from: 'requested', to: 'denied', reason: 'no' } as const;
    const { log, restart } = await leftBehind(move, { denials: 'tool-output-denied' });
    const after = restart();
    const [, message] = (await sessionIn(after)).messages;
    expect(message?.parts).toMatchObject([
      { ...part, state: 'output-denied', approval: { approved: false, reason: 'no' } },
    ]);
    await after.post(say('hi'));
    expect(JSON.stringify(after.model.lastContents)).toContain('User denied the tool call: no');
    expect(log).toEqual([]);
  });

  it('[R7] is shown with the stored approval, and has no outcome yet', async () => {
    const { restart } = await leftBehind({ from: 'requested', to: 'approved' });
    const [, message] = (await sessionIn(restart())).messages;
    expect(message?.parts).toMatchObject([
      { ...part, state: 'approval-responded', approval: { approved: true } },
    ]);
  });

  it.each([
    ['approval', { ...part, type: 'tool-process_payment' }],
    ['tool', { type: 'tool-adk_request_confirmation' }],
  ] as const)('[T16d] ends when its request, sent as %s, expired meanwhile', async (confirmations, shown) => {
    const { clock, restart } = await leftBehind(null, { approvalTimeoutMs: 30_000, confirmations });
    clock.advance(30_000);
    const after = restart();
    const [, message] = (await sessionIn(after)).messages;
    expect(message?.parts).toMatchObject([
      { ...shown, state: 'output-error', errorText: 'Approval request timed out' },
    ]);
    expect(await auditOf(after)).toEqual(['issued', 'expired']);
  });

  it('[T16d] [T16c] ends when the browser had to answer meanwhile', async () => {
    const store = createMemoryStore();
    const clock = new ManualClock();
    const { music } = fourTools();
    const play = { id: 'call-m', name: 'change_bgm', args: { track: 1 } };
    const before = await live([[calls(play)]], [music], { store, clock });
    const socket = await before.connect('?session=chat-1');
    socket.say('play');
    await socket.chunk('tool-input-available');
    // The clock of the first server stands still: for the next one it is dead.
    const next = new ManualClock();
    next.advance(60_000);
    const after = harness([], [music], { store, clock: next });
    const [, message] = (await sessionIn(after)).messages;
    expect(message?.parts).toMatchObject([
      { toolCallId: 'call-m', state: 'output-error', errorText: 'Timeout waiting for change_bgm result' },
    ]);
  });
});

describe('a message that is taken back while its card is open', () => {
  it('[S11] is gone: the card that ends with it is not written anew', async () => {
    const { payment } = fourTools();
    const server = await live([[calls(PAY)], [text('Hello.')]], [payment]);
    const socket = await server.connect('?session=chat-1');
    socket.say('pay', 'user-1');
    await socket.chunk('tool-approval-request');
    const parts = [{ type: 'text', text: 'hi' }];
    socket.send('message', { messages: [{ id: 'user-1', role: 'user', parts }], messageId: 'user-1' });
    await socket.done();
    expect(seen(await sessionIn(server))).toEqual([
      asked('hi'),
      { role: 'assistant', parts: [{ type: 'text', text: 'Hello.', state: 'done' }], interrupted: undefined },
    ]);
  });
});

/** The one session of a store in a store of its own. */
async function copyOf(store: ReturnType<typeof createMemoryStore>) {
  const key = { app: 'duologue', user: 'live_user', id: 'chat-1', fence: 0 };
  const copy = createMemoryStore();
  await copy.createSession(key, {});
  for (const event of (await store.loadSession(key))?.events ?? []) await copy.appendEvent(key, event);
  for (const message of await store.loadMessages(key)) await copy.putMessage(key, message);
  return copy;
}
