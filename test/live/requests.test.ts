import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Chunk } from '../../src/protocol/index.ts';
import { createMemoryStore, type Store } from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness, say, shape } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { calls, type ScriptedTurn, streamed, text } from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

const PAY = { id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
const WHERE = { id: 'call-l', name: 'get_location', args: {} };

const message = (words: string, requestId?: string, id = `user-${words}`) => ({
  messages: [{ id, role: 'user', parts: [{ type: 'text', text: words }] }],
  ...(requestId === undefined ? {} : { requestId }),
});

/** The data of the chunks of one type, with their ids. */
function all<T extends Chunk['type']>(
  socket: TestSocket,
  type: T,
): { data: unknown; id: string | undefined }[] {
  return socket.received.flatMap((one) =>
    one.kind === 'chunk' && one.chunk.type === type && 'data' in one.chunk
      ? [{ data: one.chunk.data, id: one.id }]
      : [],
  );
}

const accepted = (socket: TestSocket) => all(socket, 'data-accepted').map(({ data }) => data);
const errors = (socket: TestSocket) => all(socket, 'data-error').map(({ data }) => data);

/** Waits until everything that was sent before was taken. */
async function pinged(socket: TestSocket): Promise<void> {
  const before = socket.received.length;
  socket.send('ping', { timestamp: before });
  await socket.until((all) => all.some((one) => one.kind === 'raw' && all.indexOf(one) >= before), 'pong');
}

describe('a request with a name', () => {
  it('[B25] [B25a] [B25d] is answered with the message that the agent answers it in, to its connection, without an id', async () => {
    const server = await live([[text('Hello.')], [text('Again.')]]);
    const socket = await server.connect('?session=s');
    socket.send('message', message('hi', 'r1'));
    socket.send('message', message('you', 'r2'));
    await socket.done(2);
    const starts = socket.chunks.flatMap((chunk) => (chunk.type === 'start' ? [chunk.messageId] : []));
    expect(all(socket, 'data-accepted')).toEqual([
      { data: { requestId: 'r1', messageId: starts[0] }, id: undefined },
      { data: { requestId: 'r2', messageId: starts[1] }, id: undefined },
    ]);
    expect(errors(socket)).toEqual([]);
  });

  it('[B24b] [B25e] is passed over when it is repeated, and answered as before: messages, answers and interrupts', async () => {
    const log: string[] = [];
    const { payment, location } = fourTools(log);
    const turns: ScriptedTurn[] = [[calls(PAY)], [calls(WHERE)], [text('There.')], [text('More.')]];
    const server = await live(turns, [payment, location]);
    const socket = await server.connect('?session=s');
    const twice = (type: string, data: object) => {
      socket.send(type, data);
      socket.send(type, data);
    };
    twice('message', message('pay', 'r1'));
    const card = await socket.chunk('tool-approval-request');
    twice('message', { ...decision(card), requestId: 'r2' });
    const where = await socket.chunk('tool-approval-request', 2);
    twice('tool_result', { toolCallId: where.toolCallId, status: 'approved', requestId: 'r3' });
    twice('tool_result', { toolCallId: where.toolCallId, result: { latitude: 1 }, requestId: 'r4' });
    await socket.done();
    twice('interrupt', { requestId: 'r5' });
    await pinged(socket);
    twice('message', message('pay', 'r1'));
    twice('tool_result', { toolCallId: where.toolCallId, result: { latitude: 2 }, requestId: 'r4' });
    await pinged(socket);
    socket.send('message', message('go on', 'r6'));
    await socket.done(2);
    const [{ messageId } = { messageId: '' }] = socket.chunks.flatMap((chunk) =>
      chunk.type === 'start' ? [chunk] : [],
    );
    const times = (requestId: string) =>
      (accepted(socket) as { requestId: string }[]).filter((one) => one.requestId === requestId);
    expect(times('r1')).toEqual(Array(4).fill({ requestId: 'r1', messageId }));
    expect(['r2', 'r3', 'r4', 'r5'].map((name) => times(name).length)).toEqual([2, 2, 4, 2]);
    expect(errors(socket)).toEqual([]);
    expect(log).toEqual(['pay Alice 30']);
    expect(server.model.left).toBe(0);
  });

  it('[B24b] is passed over after a restart of the server too, whichever store it has', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'duologue-requests-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const play = async (open: () => Promise<Store>) => {
      const { location } = fourTools();
      const turns: ScriptedTurn[] = [[calls({ ...WHERE })], [text('There.')]];
      const first = await live(turns, [location], { store: await open() });
      const socket = await first.connect('?session=s');
      socket.send('message', message('where', 'r1'));
      const card = await socket.chunk('tool-approval-request');
      socket.send('tool_result', { toolCallId: card.toolCallId, status: 'approved', requestId: 'r2' });
      socket.send('tool_result', { toolCallId: card.toolCallId, result: { latitude: 1 }, requestId: 'r3' });
      await socket.done();
      const before = accepted(socket);
      return { first, before, toolCallId: card.toolCallId };
    };
    const again = async (store: Store, toolCallId: string) => {
      const second = await live([[text('Never said.')]], [], { store });
      const socket = await second.connect('?session=s');
      const { data } = await socket.chunk('data-session');
      socket.send('message', message('where', 'r1'));
      socket.send('tool_result', { toolCallId, result: { latitude: 2 }, requestId: 'r3' });
      await socket.chunk('data-accepted', 2);
      return { received: data.received, reported: accepted(socket), left: second.model.left };
    };
    const memory = createMemoryStore();
    const keeping = { ...memory, close: async () => undefined };
    for (const open of [async () => keeping, () => openSqliteStore(folder)]) {
      const { first, before, toolCallId } = await play(open);
      await first.served.close();
      const { received, reported, left } = await again(await open(), toolCallId);
      expect(received).toEqual(before);
      expect(reported).toEqual([before[0], before[2]]);
      expect(left).toBe(1);
    }
  });

  it('[B25b] is told by its name what is wrong with it, and may then be made anew', async () => {
    const server = await live([[text('Hello.')]]);
    const socket = await server.connect('?session=s');
    socket.send('message', { messages: [{ role: 'user', parts: [] }], requestId: 'r1' });
    socket.send('message', { messages: 7, requestId: 'r2' });
    socket.send('tool_result', { toolCallId: 'nobody', result: 1, requestId: 'r3' });
    socket.send('tool_result', { toolCallId: 'nobody', result: 1 });
    socket.send('message', message('hi', 'x'.repeat(257)));
    socket.send('message', message('hi', 'r1'));
    await socket.done();
    expect(
      (errors(socket) as { code: string; requestId?: string }[]).map(({ code, requestId }) => [
        code,
        requestId,
      ]),
    ).toEqual([
      ['empty_message', 'r1'],
      ['bad_request', 'r2'],
      ['bad_request', undefined],
      ['nothing_to_answer', 'r3'],
      ['nothing_to_answer', undefined],
    ]);
    expect(accepted(socket)).toMatchObject([{ requestId: 'r1' }]);
  });

  it('[B25c] is told of the answers that do not count, beside those that do', async () => {
    const { payment } = fourTools();
    const two = [PAY, { ...PAY, id: 'call-b' }];
    const server = await live([[calls(...two)], [text('Paid.')]], [payment], { approvals: 'parallel' });
    const socket = await server.connect('?session=s');
    socket.send('message', message('pay', 'r1'));
    const cards = [
      await socket.chunk('tool-approval-request'),
      await socket.chunk('tool-approval-request', 2),
    ];
    const parts = cards.flatMap(
      (card) => (decision(card) as { messages: { parts: object[] }[] }).messages[0]?.parts ?? [],
    );
    parts[1] = { ...parts[1], input: { amount: 31, recipient: 'Alice' } };
    socket.send('message', { messages: [{ role: 'assistant', parts }], requestId: 'r2' });
    await socket.chunk('tool-output-available');
    expect(accepted(socket)).toMatchObject([{ requestId: 'r1' }, { requestId: 'r2' }]);
    expect(errors(socket)).toMatchObject([{ code: 'answer_refused', requestId: 'r2' }]);
  });

  it('[B25] [B2a] one without a name is answered by nothing, and a word-for-word repetition still passed over', async () => {
    const server = await live([[text('Hello.')], [text('Never said.')]]);
    const socket = await server.connect('?session=s');
    socket.send('message', message('hi'));
    await socket.done();
    socket.send('message', message('hi'));
    await pinged(socket);
    expect([accepted(socket), errors(socket), server.model.left]).toEqual([[], [], 1]);
  });
});

describe('what a connection is told first', () => {
  it('[B26] [B26b] [B26d] has the requests that were accepted, the calls that wait, what is being said, and what the model takes', async () => {
    const { payment, location } = fourTools();
    const server = await live([[calls(PAY, WHERE)], [text('Done.')]], [payment, location]);
    const first = await server.connect('?session=s');
    const reported = (await first.chunk('data-session')).data;
    expect([reported.received, reported.open, reported.running]).toEqual([[], [], null]);
    expect(reported.model).toEqual({ hears: false, sees: true, speaks: false });
    first.send('message', message('pay', 'r1'));
    const card = await first.chunk('tool-approval-request');
    const { messageId = '' } = await first.chunk('start');
    await first.until((all) => all.some((one) => one.kind === 'chunk' && one.chunk.type === 'finish-step'));
    const second = await server.connect('?session=s');
    const { data } = await second.chunk('data-session');
    expect(data.received).toEqual([{ requestId: 'r1', messageId }]);
    expect(data.open).toEqual([{ toolCallId: card.toolCallId, messageId, waitsFor: 'person' }]);
    expect(data.running).toBeNull();
  });

  it('[B26c] names the message that is being written', async () => {
    let release: () => void = () => undefined;
    const slow: ScriptedTurn = async function* () {
      yield* streamed('One ');
      await new Promise<void>((resolve) => {
        release = resolve;
      });
    };
    const server = await live([slow]);
    const first = await server.connect('?session=s');
    first.send('message', message('count', 'r1'));
    await first.chunk('text-delta');
    const second = await server.connect('?session=s');
    const { data } = await second.chunk('data-session');
    expect(data.running).toBe((await first.chunk('start')).messageId);
    release();
  });
});

describe('a post with a name', () => {
  const named = (words: string, requestId: string) => ({ ...say(words), requestId });

  it('[S19] [S19b] begins with data-accepted, and repeated gets the response of the first', async () => {
    const server = harness([streamed('One ', 'two.'), [text('Never said.')]]);
    const first = await server.post(named('count', 'r1'));
    const [head, start] = first.chunks;
    expect(head).toEqual({
      type: 'data-accepted',
      data: { requestId: 'r1', messageId: start?.type === 'start' && start.messageId },
      transient: true,
    });
    expect(first.ids[0]).toBeUndefined();
    const again = await server.post(named('count', 'r1'));
    expect(again.chunks).toEqual(first.chunks);
    expect(again.dones).toBe(1);
    expect(server.model.left).toBe(1);
  });

  it('[S19a] while the first response is being given, gets all of it and what follows', async () => {
    let release: () => void = () => undefined;
    let hasBegun: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      hasBegun = resolve;
    });
    const slow: ScriptedTurn = async function* () {
      yield* streamed('One ');
      hasBegun();
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      yield text('One two.');
    };
    const server = harness([slow]);
    const first = server.post(named('count', 'r1'));
    await begun;
    const second = server.post(named('count', 'r1'));
    for (let count = 0; count < 40; count++) await new Promise((resolve) => setImmediate(resolve));
    release();
    expect((await second).chunks).toEqual((await first).chunks);
  });

  it('[S19b] after a restart gets the message as it was stored; and of answers, what they led to', async () => {
    const store = { ...createMemoryStore(), close: async () => undefined };
    const { payment } = fourTools();
    const turns: ScriptedTurn[] = [[...streamed('Let me '), calls(PAY)], streamed('Paid ', 'it.')];
    const first = harness(turns, [payment], { store });
    const asked = await first.post(named('pay', 'r1'));
    const card = asked.chunks.find((chunk) => chunk.type === 'tool-approval-request');
    const answer = { id: 'chat-1', ...(card && decision(card)), requestId: 'r2' };
    const answered = await first.post(answer);
    await first.duologue.close();
    const second = harness([], [payment], { store });
    const again = await second.post(answer);
    expect(shape(again.chunks)).toEqual(shape(answered.chunks));
    expect(again.chunks.find(({ type }) => type === 'tool-output-available')).toEqual(
      answered.chunks.find(({ type }) => type === 'tool-output-available'),
    );
    const whole = await second.post(named('pay', 'r1'));
    expect(shape(whole.chunks)).toEqual([
      'data-accepted',
      'start',
      'text-start',
      'text-delta',
      'text-end',
      'tool-input-start',
      'tool-input-available',
      'tool-output-available',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
  });

  /** A session in which the browser was asked for its place, and posts what it found. */
  async function asked(tools: 'location' | 'both', store?: Store) {
    const log: string[] = [];
    const { payment, location } = fourTools(log);
    const made = tools === 'both' ? [PAY, WHERE] : [WHERE];
    const turns: ScriptedTurn[] = [[calls(...made)], [text('There.')]];
    const server = harness(turns, [payment, location], store ? { store } : {});
    const { chunks } = await server.post(named('where', 'r1'));
    const cards = chunks.filter((chunk) => chunk.type === 'tool-approval-request');
    const parts = cards.map(({ toolCallId, approvalId }) => ({
      type: 'tool-any',
      toolCallId,
      state: toolCallId === WHERE.id ? 'output-available' : 'approval-responded',
      approval: { id: approvalId, approved: true },
      ...(toolCallId === WHERE.id ? { output: { latitude: 1 } } : {}),
    }));
    const answer = { id: 'chat-1', messages: [{ id: 'a', role: 'assistant', parts }], requestId: 'r2' };
    return { ...server, answer, log };
  }

  it.each(['location', 'both'] as const)(
    '[S19] [B25] that holds what the browser gave begins with data-accepted as well: %s',
    async (tools) => {
      const { post, answer } = await asked(tools);
      const { chunks } = await post(answer);
      expect(chunks.slice(0, 2)).toMatchObject([
        { type: 'data-accepted', data: { requestId: 'r2' } },
        { type: 'start' },
      ]);
      expect(shape(chunks).filter((type) => type === 'data-accepted')).toHaveLength(1);
      expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
    },
  );

  it('[S20d] that holds what the browser gave, and whose page watches, is told that it was taken', async () => {
    const { post, answer } = await asked('location');
    const { chunks, dones } = await post({ ...answer, watches: true });
    expect(chunks).toMatchObject([{ type: 'data-accepted', data: { requestId: 'r2' } }]);
    expect(dones).toBe(1);
  });

  it('[B25] that holds what the browser gave is taken before the tools of the server run', async () => {
    const { post, answer, log } = await asked('both');
    const { chunks } = await post(answer);
    const ends = chunks.flatMap((chunk) =>
      chunk.type === 'tool-output-available' ? [chunk.toolCallId] : [],
    );
    expect(ends).toEqual([WHERE.id, PAY.id]);
    expect(log).toEqual(['pay Alice 30']);
  });

  it('[B25] that holds what the browser gave is refused by its name when that cannot be stored', async () => {
    const store = createMemoryStore();
    const { appendEvent } = store;
    let isBroken = false;
    store.appendEvent = (...args) =>
      isBroken ? Promise.reject(new Error('The disk is full.')) : appendEvent(...args);
    const { post, answer } = await asked('location', store);
    isBroken = true;
    const refused = await post(answer);
    expect(refused).toMatchObject({
      status: 500,
      json: { error: { code: 'internal', requestId: 'r2', retryable: true } },
    });
  });

  it('[S19c] that was refused left no name; and one that is no name is refused', async () => {
    const server = harness([[text('Hello.')]]);
    const empty = { id: 'chat-1', messages: [{ role: 'user', parts: [] }], requestId: 'r1' };
    expect((await server.post(empty)).status).toBe(400);
    expect((await server.post({ ...say('hi'), requestId: 7 })).status).toBe(400);
    expect((await server.post(named('hi', 'r1'))).dones).toBe(1);
  });
});
