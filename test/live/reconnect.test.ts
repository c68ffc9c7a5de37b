import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Chunk, type Message, MessageFold } from '../../src/protocol/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { shape } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { calls, type ScriptedTurn, streamed, text } from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

const PAY_ALICE = { id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
const PAY_BOB = { id: 'call-b', name: 'process_payment', args: { amount: 40, recipient: 'Bob' } };

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

/** What a client shows after these chunks: messages by id, without the steps that its transport takes out. */
function messagesOf(chunks: Chunk[]): unknown {
  const folds = new Map<string, MessageFold>();
  let current: MessageFold | undefined;
  for (const chunk of chunks) {
    if (chunk.type === 'start-step' || chunk.type === 'finish-step') continue;
    if (chunk.type === 'start') {
      const id = chunk.messageId ?? '';
      current = folds.get(id) ?? new MessageFold({ id, role: 'assistant', parts: [] } as Message);
      folds.set(id, current);
    }
    current?.push(chunk);
  }
  return JSON.parse(JSON.stringify([...folds.values()].map(({ message }) => message.parts)));
}

/** Plays a scenario; after `cut` pieces the socket is dropped once and a new one goes on from the last id. */
async function play(
  turns: ScriptedTurn[],
  cut: number,
): Promise<{ messages: unknown; total: number; log: string[] }> {
  const log: string[] = [];
  const { payment, weather } = fourTools(log);
  const server = await live(turns, [payment, weather], { approvalTimeoutMs: null });
  let socket = await server.connect('?session=cut');
  const seen: Chunk[] = [];
  const ids = new Set<string>();
  let dropped = false;
  let last: string | undefined;
  const answered = new Set<string>();
  let taken = 0;
  socket.say('go', 'user-1');
  for (let rounds = 0; rounds < 400; rounds++) {
    await socket.until((all) => all.length > taken, 'more');
    const piece = socket.received[taken++];
    if (piece?.kind === 'chunk' && piece.id && piece.chunk.type !== 'data-session') {
      // Nothing comes twice.
      expect(ids.has(piece.id)).toBe(false);
      ids.add(piece.id);
      last = piece.id;
      seen.push(piece.chunk);
      if (piece.chunk.type === 'tool-approval-request' && !answered.has(piece.chunk.approvalId)) {
        answered.add(piece.chunk.approvalId);
        socket.send('message', decision(piece.chunk));
      }
    }
    if (piece?.kind === 'done') break;
    if (!dropped && ids.size >= cut) {
      dropped = true;
      socket.socket.terminate();
      socket = await server.connect(`?session=cut${last ? `&last=${last}` : ''}`);
      taken = 0;
      // The client cannot know whether these arrived.
      socket.say('go', 'user-1');
      for (const chunk of seen)
        if (chunk.type === 'tool-approval-request') socket.send('message', decision(chunk));
    }
  }
  return { messages: messagesOf(seen), total: ids.size, log };
}

describe('coming back', () => {
  it('[R6] a socket cut after any chunk, on return, gives every later chunk once: same message, nothing twice', async () => {
    const scenario = (): ScriptedTurn[] => [
      [calls({ id: 'call-w', name: 'get_weather', args: { location: 'Oslo' } }, PAY_ALICE, PAY_BOB)],
      streamed('Alice ', 'and ', 'Bob ', 'are ', 'paid.'),
    ];
    const whole = await play(scenario(), Number.POSITIVE_INFINITY);
    expect(whole.log).toEqual(['weather Oslo', 'pay Alice 30', 'pay Bob 40']);
    for (let cut = 0; cut < whole.total; cut++) {
      const again = await play(scenario(), cut);
      expect(again.messages, `cut after ${cut}`).toEqual(whole.messages);
      expect(again.log).toEqual(whole.log);
    }
  });

  it('[R3] [B11b] a page that names no chunk gets the message in progress from its first start', async () => {
    const { payment } = fourTools();
    const server = await live([[calls(PAY_ALICE)], [text('Paid.')]], [payment]);
    const first = await server.connect('?session=reload');
    first.say('pay');
    await first.chunk('finish-step');
    first.socket.terminate();
    const second = await server.connect('?session=reload');
    const card = await second.chunk('tool-approval-request');
    expect(shape(second.chunks)).toEqual(shape(first.chunks));
    second.send('message', decision(card));
    await second.done();
  });

  it('[R5a] a client whose chunk is of another epoch gets the whole conversation, then goes on', async () => {
    const server = await live([[text('Hello.')], [text('Again.')]]);
    const first = await server.connect('?session=old');
    first.say('hi');
    await first.done();
    first.close();
    const second = await server.connect('?session=old&last=elsewhere-7');
    const { data } = await second.chunk('data-reset');
    expect(data.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(second.chunks.filter(({ type }) => !type.startsWith('data-'))).toEqual([]);
    second.say('more');
    await second.done();
    expect(shape(second.chunks)).toEqual(['start', 'text-start', 'text-delta', 'text-end', 'finish']);
  });

  it('[B17a] a second connection takes over; the first is told and closed with 4001', async () => {
    const { payment } = fourTools();
    const server = await live([[calls(PAY_ALICE)], [text('Paid.')]], [payment]);
    const first = await server.connect('?session=both');
    first.say('pay');
    const card = await first.chunk('tool-approval-request');
    const second = await server.connect('?session=both');
    expect(await first.closed()).toBe(4001);
    expect((await first.chunk('data-error')).data.code).toBe('taken_over');
    second.send('message', decision(card));
    await second.done();
    expect(second.chunks.at(-1)?.type).toBe('finish');
  });

  it('[R7] [T15a] after a restart the conversation and the open card are there, and the answer counts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'duologue-'));
    folders.push(folder);
    const log: string[] = [];
    const { payment } = fourTools(log);
    const before = await live([[calls(PAY_ALICE)]], [payment], { store: await openSqliteStore(folder) });
    const first = await before.connect('?session=restart');
    first.say('pay');
    const card = await first.chunk('tool-approval-request');
    const { lastId } = first;
    await before.served.close();
    expect(await first.closed()).toBe(1012);

    const after = await live([[text('Paid.')]], [payment], { store: await openSqliteStore(folder) });
    const second = await after.connect(`?session=restart&last=${lastId}`);
    const { data } = await second.chunk('data-reset');
    const shown = data.messages[1]?.parts[0];
    expect(shown).toMatchObject({ state: 'approval-requested', approval: { id: card.approvalId } });
    second.send('message', decision(card));
    await second.done();
    expect(log).toEqual(['pay Alice 30']);
    expect(shape(second.chunks)).toEqual([
      'start',
      'tool-output-available',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
  });

  it('[T9] the same answer on two sockets and many times runs the tool once', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const server = await live([[calls(PAY_ALICE)], [text('Paid.')], [text('Once.')]], [payment], {
      rateLimit: false,
    });
    const first = await server.connect('?session=race');
    first.say('pay');
    const card = await first.chunk('tool-approval-request');
    for (let i = 0; i < 50; i++) first.send('message', decision(card));
    const second: TestSocket = await server.connect('?session=race');
    for (let i = 0; i < 50; i++) second.send('message', decision(card, i % 2 === 0));
    second.say('and?');
    await second.until((all) => all.some((one) => one.kind === 'done'), 'the end');
    expect(log).toEqual(['pay Alice 30']);
  });
});
