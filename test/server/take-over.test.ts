import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Chunk, Grammar, type Message, MessageFold } from '../../src/protocol/index.ts';
import { createMemoryStore, type Store } from '../../src/server/index.ts';
import { ChunkLog } from '../../src/server/log/log.ts';
import { messagesToStore, restOf } from '../../src/server/log/take-over.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness, read, say, shape } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { MemoryHub, SharedMemory } from '../support/memory-hub.ts';
import { call, type ScriptedTurn, text } from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

const key = { app: 'duologue', user: 'live_user', id: 'chat-1' };

/** Servers that share a store and a hub. */
function group() {
  const shared = new SharedMemory();
  const store: Store = Object.assign(createMemoryStore(), { close: async () => undefined });
  return { shared, store, options: () => ({ store, hub: new MemoryHub(shared), newId: randomUUID }) };
}

/** A turn that says two words, and then nothing until it is released. */
function held(): { turn: ScriptedTurn; go: () => void } {
  let go: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    go = resolve;
  });
  async function* turn() {
    yield { ...text('One '), partial: true };
    yield { ...text('two '), partial: true };
    await gone;
    yield text('One two ');
  }
  return { turn, go };
}

const wordsOf = (socket: TestSocket) =>
  socket.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : [])).join('');
const placeOf = (id: string | undefined) => id?.split('-').at(-1);

describe('a session whose owner died', () => {
  it('[R2] [R6] [R7] a client goes on after the chunk it has: all that was said once, and its end as interrupted', async () => {
    const { store, options } = group();
    const { turn, go } = held();
    const first = await live([turn], [], options());
    const second = await live([[text('Three.')]], [], options());
    const socket = await first.connect('?session=chat-1');
    socket.say('count');
    await socket.until(() => wordsOf(socket) === 'One two ');
    const again = await second.connect(`?session=chat-1&last=${socket.lastId}`);
    const session = await again.chunk('data-session');
    expect(session.data).toMatchObject({ resumed: true, epoch: socket.lastId?.slice(0, 8) });
    await again.done();
    expect(shape(again.chunks)).toEqual(['text-end', 'finish']);
    expect(again.chunks.at(-1)).toMatchObject({
      finishReason: 'other',
      messageMetadata: { interrupted: true, cutOff: true },
    });
    expect(again.received.map((one) => one.kind === 'chunk' && one.chunk.type)).not.toContain('data-reset');
    again.say('go on');
    await again.done(2);
    expect(wordsOf(again)).toBe('Three.');
    const messages = await store.loadMessages(key);
    expect(messages.map(({ parts }) => parts.map((part) => 'text' in part && part.text).join(''))).toEqual([
      'count',
      'One two ',
      'go on',
      'Three.',
    ]);
    go();
    await socket.closed();
  });

  it('[R2] [R4a] over SSE the rest of the response comes with the ids that go on, and one [DONE]', async () => {
    const { options } = group();
    const { turn, go } = held();
    const first = harness([turn], [], options());
    const second = harness([], [], options());
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(say('count'));
    const response = await first.duologue.fetch(
      new Request('http://localhost/stream', { method: 'POST', headers, body }),
    );
    const reader = response.body?.getReader();
    let heard = '';
    while (!heard.includes('two ')) heard += new TextDecoder().decode((await reader?.read())?.value);
    const last = [...heard.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';
    const rest = await read(await second.get(`/stream/chat-1/stream?last=${last}`));
    expect([shape(rest.chunks), rest.dones]).toEqual([['text-end', 'finish'], 1]);
    expect(placeOf(rest.ids[0])).toBe(String(Number(placeOf(last)) + 1));
    expect(rest.ids[0]?.slice(0, 8)).toBe(last.slice(0, 8));
    go();
    await reader?.cancel();
    await first.duologue.close();
    await second.duologue.close();
  });

  it('[R6] [T12] a card that waits is answered where the session goes on, and is not told again', async () => {
    const { options } = group();
    const log: string[] = [];
    const { payment } = fourTools(log);
    const pay = call('process_payment', { amount: 50, recipient: 'Hanako' }, 'pay-1');
    const first = await live([[pay]], [payment], options());
    const second = await live([[text('Paid.')]], [payment], options());
    const socket = await first.connect('?session=chat-1');
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    await socket.chunk('finish-step');
    const again = await second.connect(`?session=chat-1&last=${socket.lastId}`);
    expect((await again.chunk('data-session')).data.resumed).toBe(true);
    again.send('message', decision(card));
    await again.done();
    expect(shape(again.chunks)).not.toContain('tool-approval-request');
    expect(shape(again.chunks)).toContain('tool-output-available');
    expect(log).toHaveLength(1);
  });

  it('[R5] when the log is lost, too, a client begins from what is stored', async () => {
    const { shared, store, options } = group();
    const { turn, go } = held();
    const clock = new ManualClock();
    const first = await live([turn], [], { ...options(), clock });
    const second = await live([], [], options());
    const socket = await first.connect('?session=chat-1');
    socket.say('count');
    await socket.until(() => wordsOf(socket) === 'One ');
    clock.advance(12_000);
    await socket.until(() => wordsOf(socket) === 'One two ');
    await expect.poll(async () => (await store.loadMessages(key)).length).toBe(2);
    shared.lose(key);
    const again = await second.connect(`?session=chat-1&last=${socket.lastId}`);
    const session = await again.chunk('data-session');
    expect(session.data.resumed).toBe(false);
    const reset = await again.chunk('data-reset');
    expect(reset.data.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    go();
    await socket.closed();
  });

  it('[R5] when the log is lost, too, an answer of which nothing is stored starts again', async () => {
    const { shared, store, options } = group();
    const { turn, go } = held();
    const first = await live([turn], [], options());
    const second = await live([[text('Three.')]], [], options());
    const socket = await first.connect('?session=chat-1');
    const parts = [{ type: 'text', text: 'count' }];
    socket.send('message', { requestId: 'r1', messages: [{ id: 'u1', role: 'user', parts }] });
    await socket.until(() => wordsOf(socket) === 'One two ');
    shared.lose(key);
    const again = await second.connect(`?session=chat-1&last=${socket.lastId}`);
    const reset = await again.chunk('data-reset');
    expect(reset.data.messages.map(({ role }) => role)).toEqual(['user']);
    await again.done();
    expect(wordsOf(again)).toBe('Three.');
    go();
    await socket.closed();
    const messages = await store.loadMessages(key);
    expect(messages.map(({ parts }) => parts.map((part) => 'text' in part && part.text).join(''))).toEqual([
      'count',
      'Three.',
    ]);
    expect(second.model.lastContents.map(({ parts }) => parts)).toEqual([[{ text: 'count' }]]);
  });

  it('[R4a] an owner writes the log again that the hub has lost, and its clients notice nothing', async () => {
    const { shared, options } = group();
    const { turn, go } = held();
    const first = await live([turn], [], options());
    const second = await live([], [], options());
    const socket = await first.connect('?session=chat-1');
    socket.say('count');
    await socket.until(() => wordsOf(socket) === 'One two ');
    const { lastId } = socket;
    shared.lose(key);
    go();
    await socket.done();
    expect(wordsOf(socket)).toBe('One two ');
    const again = await second.connect(`?session=chat-1&last=${lastId}`);
    expect((await again.chunk('data-session')).data.resumed).toBe(true);
    await again.done();
    expect(shape(again.chunks)).toEqual(['text-end', 'finish']);
  });

  it('[E1] while the hub is away nothing is told that could be lost, and it is told when it is back', async () => {
    const { shared, options } = group();
    const { turn, go } = held();
    const first = await live([turn], [], options());
    const socket = await first.connect('?session=chat-1');
    socket.say('count');
    await socket.until(() => wordsOf(socket) === 'One two ');
    const before = socket.received.length;
    shared.isAway = true;
    go();
    // A request that is answered shows that the server goes on.
    expect((await first.get('/sessions')).status).toBe(200);
    expect(socket.received.length).toBe(before);
    shared.back();
    await socket.done();
    expect(shape(socket.chunks).slice(-2)).toEqual(['text-end', 'finish']);
  });

  it('[E11] [E11a] while the hub is away for seconds, every client is told once that the answer waits, and gets it whole when the hub is back', async () => {
    const { shared, options } = group();
    const { turn, go } = held();
    const first = await live([turn], [], options());
    const socket = await first.connect('?session=chat-1');
    const watching = await first.get('/sessions/chat-1/watch');
    const reader = watching.body?.getReader();
    let watched = '';
    const watch = async (text: string) => {
      while (!watched.includes(text)) watched += new TextDecoder().decode((await reader?.read())?.value);
    };
    await watch('data-session');
    shared.isAway = true;
    socket.send('message', { ...say('count'), requestId: 'r1' });
    await socket.chunk('data-accepted');
    go();
    const { data } = await socket.chunk('data-error');
    expect(data).toMatchObject({ code: 'internal', retryable: true });
    expect(data.requestId).toBeUndefined();
    await watch(data.message);
    shared.back();
    await socket.done();
    await watch('"type":"finish"');
    expect(wordsOf(socket)).toBe('One two ');
    expect(
      socket.received.filter((one) => one.kind === 'chunk' && one.chunk.type === 'data-error'),
    ).toHaveLength(1);
    expect(watched.split(data.message)).toHaveLength(2);
    await reader?.cancel();
  });
});

const toolMetadata = { runsOn: 'server', asks: true };

/** A message with words, a card and words again, as it is sent over a socket. */
const TEXTS: (Chunk | null)[] = [
  { type: 'data-message', data: { message: { id: 'u', role: 'user', parts: [] } }, transient: true },
  { type: 'start', messageId: 'a', messageMetadata: { createdAt: 1 } },
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'I will ' },
  { type: 'text-delta', id: '0', delta: 'pay.' },
  { type: 'text-end', id: '0' },
  { type: 'tool-input-start', toolCallId: 'c', toolName: 'pay', toolMetadata },
  { type: 'tool-input-available', toolCallId: 'c', toolName: 'pay', input: { amount: 1 }, toolMetadata },
  { type: 'start-step' },
  { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'approval' },
  { type: 'finish-step' },
  { type: 'tool-output-available', toolCallId: 'c', output: { paid: 1 } },
  { type: 'reasoning-start', id: '2' },
  { type: 'reasoning-delta', id: '2', delta: 'Done?' },
  { type: 'reasoning-end', id: '2' },
  { type: 'text-start', id: '3' },
  { type: 'text-delta', id: '3', delta: 'Paid.' },
  { type: 'text-end', id: '3' },
  { type: 'finish', finishReason: 'stop', messageMetadata: { rawFinishReason: 'STOP' } },
  null,
];
const user: Message = { id: 'u', role: 'user', parts: [] };

/** The answer as a client has it after these chunks. */
function folded(chunks: readonly (Chunk | null)[]): Message {
  const fold = new MessageFold({ id: 'a', role: 'assistant', parts: [] });
  for (const [index, chunk] of chunks.entries()) {
    const isOfRequest = chunk?.type === 'start-step' && chunks[index + 1]?.type === 'tool-approval-request';
    if (chunk && chunk.type !== 'data-message' && !isOfRequest) fold.push(structuredClone(chunk));
  }
  return fold.message;
}

/** The same message as it is stored when it was cut off there: nothing is being written any more. */
function cutOff(chunks: readonly (Chunk | null)[]): Message {
  const message = folded(chunks);
  for (const part of message.parts) {
    if ('state' in part && part.state === 'streaming') part.state = 'done';
    if ('toolCallId' in part && !part.state.startsWith('output-')) {
      Object.assign(part, { state: 'output-error', errorText: 'unknown', input: { amount: 1 } });
    }
  }
  return { ...message, metadata: { ...message.metadata, interrupted: true, cutOff: true } };
}

const partsOf = (message: Message) => JSON.parse(JSON.stringify(message.parts)) as unknown[];
/** An approval card that no client got and that is over is not shown; and blocks have ids of their own. */
const withoutCard = (part: unknown) => ({ ...(part as object), approval: undefined, id: undefined });
const storedState = { open: new Set<string>(), awaited: new Set<string>() };
const logOf = (chunks: (Chunk | null)[], first = 1) => new ChunkLog('e', { first, chunks });

describe('what is said behind a log', () => {
  // A request and the step around it are said in one go, and kept together.
  const places = TEXTS.map((_, at) => at).filter((at) => at > 1 && at !== 9 && at !== 10);

  it.each(places)('a log that ends after %i chunks leads to a message that is stored further', (at) => {
    const heard = TEXTS.slice(0, at);
    for (const stored of places.filter((place) => place >= at)) {
      const message = stored >= TEXTS.length - 2 ? folded(TEXTS) : cutOff(TEXTS.slice(0, stored));
      // Before the first word there is nothing to store.
      const messages = message.parts.length === 0 ? [user] : [user, message];
      const rest = restOf(logOf(heard), messages, storedState);
      expect(rest, `stored up to ${stored}`).not.toBeNull();
      const whole = [...heard, ...(rest ?? [])];
      const known = partsOf(folded(whole)).map(withoutCard);
      if (messages.length > 1) expect(known).toEqual(partsOf(message).map(withoutCard));
      expect(whole.filter((chunk) => chunk?.type === 'finish')).toHaveLength(1);
      expect(whole.at(-1)).toBeNull();
      const grammar = new Grammar('bidi');
      expect(whole.flatMap((chunk) => (chunk ? grammar.push(chunk) : []))).toEqual([]);
    }
  });

  it.each(TEXTS.map((_, at) => at).filter((at) => at > 3))(
    'after %i chunks a draft that is behind gets the words that it lacks, and nothing else',
    (at) => {
      const heard = TEXTS.slice(0, at);
      const draft = folded(TEXTS.slice(0, 4));
      const [more] = messagesToStore(logOf(heard), [user, draft]);
      const all = more ?? draft;
      const isOver = heard.some((chunk) => chunk?.type === 'finish');
      const text = all.parts[0] && 'text' in all.parts[0] ? all.parts[0].text : '';
      // Calls are stored before they are sent: with one that the store lacks the two do not go together.
      expect(text).toBe(at > 4 && at < 7 && !isOver ? 'I will pay.' : 'I will ');
    },
  );

  it('a message whose beginning is gone, or that says something else, does not go together with what is stored', () => {
    const message = cutOff(TEXTS.slice(0, 6));
    expect(restOf(logOf(TEXTS.slice(2, 5), 3), [user, message], storedState)).toBeNull();
    expect(restOf(logOf([{ type: 'start', messageId: 'a' }]), [user, message], storedState)).toBeNull();
    const other = { ...message, parts: [{ type: 'text' as const, text: 'No.' }] };
    expect(restOf(logOf(TEXTS.slice(0, 4)), [user, other], storedState)).toBeNull();
    expect(restOf(logOf(TEXTS.slice(0, 4)), [user], storedState)).toBeNull();
    expect(restOf(logOf(TEXTS), [{ ...user, id: 'unknown' }], storedState)).toBeNull();
  });

  it('nothing is said behind a log that is whole, nor of an answer that is about to begin', () => {
    expect(restOf(logOf(TEXTS), [user, folded(TEXTS)], storedState)).toEqual([]);
    expect(restOf(logOf(TEXTS.slice(0, 2)), [user], { ...storedState, awaited: new Set(['a']) })).toEqual([]);
  });

  it('a message that waits for an answer is not ended', () => {
    const open = { ...storedState, open: new Set(['a']) };
    expect(restOf(logOf(TEXTS.slice(0, 11)), [user, folded(TEXTS.slice(0, 11))], open)).toEqual([]);
    expect(
      shape((restOf(logOf(TEXTS.slice(0, 8)), [user, folded(TEXTS.slice(0, 11))], open) ?? []) as Chunk[]),
    ).toEqual(['start-step', 'tool-approval-request', 'finish-step']);
  });

  it('messages that are stored and that nobody has heard of are told', () => {
    const next: Message = { id: 'u2', role: 'user', parts: [{ type: 'text', text: 'And?' }] };
    const answer = cutOff([{ type: 'start', messageId: 'b' }, ...TEXTS.slice(2, 5)]);
    const rest = restOf(logOf(TEXTS), [user, folded(TEXTS), next, { ...answer, id: 'b' }], storedState);
    expect(rest?.map((chunk) => chunk?.type ?? null)).toEqual([
      'data-message',
      'start',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
      null,
    ]);
  });
});
