import { randomUUID } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import { createMemoryStore, type Store } from '../../src/server/index.ts';
import { auditLines } from '../../src/testing/store/setup.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness, read, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, type ScriptedTurn, text } from '../support/scripted-model.ts';

const key = { app: 'duologue', user: 'live_user', id: 'chat-1' };

/** A store that outlives its servers. */
function shared(): Store {
  return Object.assign(createMemoryStore(), { close: async () => undefined });
}

/** A turn that says a word, waits, and then says the rest. */
function held(): { turn: ScriptedTurn; go: () => void } {
  let go: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    go = resolve;
  });
  async function* turn() {
    yield { ...text('One '), partial: true };
    await gone;
    yield { ...text('two.'), partial: true };
    yield text('One two.');
  }
  return { turn, go };
}

const wordsIn = (messages: { role: string; parts: { type: string }[] }[]) =>
  messages.map(({ role, parts }) => [
    role,
    parts.map((part) => ('text' in part ? part.text : part.type)).join(''),
  ]);
const payments = (store: Store) => auditLines(store, key).then((lines) => lines.map(({ kind }) => kind));

it('a conversation that begins is looked for, made and owned once, and not read', async () => {
  const calls: Record<string, number> = {};
  const store = new Proxy(createMemoryStore(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        calls[String(name)] = (calls[String(name)] ?? 0) + 1;
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  const server = harness([[text('Hello.')]], [], { store });
  await server.post(say('hi'));
  expect(calls).toEqual({
    findSession: 1,
    createSession: 1,
    own: 1,
    putMessage: 2,
    renameSession: 1,
    appendEvent: 2,
  });
});

describe('a server that lost a session to another', () => {
  it('[E6a] over SSE ends the response in words and without [DONE], and stores nothing more', async () => {
    const store = shared();
    const { turn, go } = held();
    const first = harness([turn], [], { store, newId: randomUUID });
    const second = harness([[text('Hello.')]], [], { store, newId: randomUUID });
    const body = JSON.stringify(say('count'));
    const headers = { 'content-type': 'application/json' };
    const response = await first.duologue.fetch(
      new Request('http://localhost/stream', { method: 'POST', headers, body }),
    );
    expect((await second.get('/sessions/chat-1')).status).toBe(200);
    const taken = await store.loadSession(key);
    const messages = await store.loadMessages(key);
    go();
    const { chunks, dones } = await read(response);
    expect(dones).toBe(0);
    expect(chunks.at(-1)).toMatchObject({ type: 'data-error', data: { code: 'moved', retryable: true } });
    expect(await store.loadSession(key)).toEqual(taken);
    expect(await store.loadMessages(key)).toEqual(messages);
    const { status } = await second.post(say('go on'));
    expect(status).toBe(200);
    expect(wordsIn(await store.loadMessages(key)).at(-1)).toEqual(['assistant', 'Hello.']);
    await first.duologue.close();
    await second.duologue.close();
  });

  it('[E6] refuses what is posted, and the same again takes the session back', async () => {
    const store = shared();
    const first = harness([[text('One.')], [text('Three.')]], [], { store, newId: randomUUID });
    const second = harness([[text('Two.')]], [], { store, newId: randomUUID });
    await first.post(say('a'));
    await second.post(say('b'));
    const refused = await first.post(say('c'));
    expect([refused.status, refused.json]).toEqual([
      503,
      { error: expect.objectContaining({ code: 'moved', retryable: true }) },
    ]);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await first.post(say('c'))).status).toBe(200);
    expect(wordsIn(await store.loadMessages(key))).toEqual([
      ['user', 'a'],
      ['assistant', 'One.'],
      ['user', 'b'],
      ['assistant', 'Two.'],
      ['user', 'c'],
      ['assistant', 'Three.'],
    ]);
    expect(first.model.lastContents.map(({ parts }) => parts?.map((part) => part.text).join(''))).toEqual([
      'a',
      'One.',
      'b',
      'Two.',
      'c',
    ]);
  });

  it('[E6a] [E5] closes the socket with the words, and the client finds the session again', async () => {
    const store = shared();
    const { turn, go } = held();
    const first = await live([turn, [text('Back.')]], [], { store, newId: randomUUID });
    const second = harness([], [], { store, newId: randomUUID });
    const socket = await first.connect('?session=chat-1');
    socket.say('count');
    await socket.chunk('text-delta');
    await second.get('/sessions/chat-1');
    go();
    const reported = await socket.chunk('data-error');
    expect(reported).toMatchObject({ data: { code: 'moved', retryable: true } });
    await socket.until((all) => all.some((one) => one.kind === 'close' && one.code === 4004));
    expect(socket.dones).toBe(0);
    const again = await first.connect('?session=chat-1');
    again.say('and now?');
    await again.done();
    expect(wordsIn(await store.loadMessages(key)).at(-1)).toEqual(['assistant', 'Back.']);
  });

  it.each(['that waits for the other', 'that comes to this one'])(
    '[E6b] [T12] does not run a payment that was approved there, and the person %s pays once',
    async (where) => {
      const store = shared();
      const log: string[] = [];
      const { payment } = fourTools(log);
      const turns = (): ScriptedTurn[] => [
        [call('process_payment', { amount: 50, recipient: 'Hanako' }, 'pay-1')],
        [text('Paid.')],
      ];
      const first = await live(turns(), [payment], { store, newId: randomUUID });
      const second = await live([[text('Paid.')]], [payment], { store, newId: randomUUID });
      const socket = await first.connect('?session=chat-1');
      socket.say('pay');
      const card = await socket.chunk('tool-approval-request');
      await second.get('/sessions/chat-1');
      socket.send('message', decision(card));
      expect(await socket.chunk('data-error')).toMatchObject({ data: { code: 'moved' } });
      expect(log).toEqual([]);
      expect(await payments(store)).toEqual(['issued', 'approved']);
      const next = where === 'that waits for the other' ? second : first;
      const again = await next.connect('?session=chat-1');
      if (next === second) again.send('message', decision(card));
      await again.chunk('tool-output-available');
      await again.done();
      expect(log).toHaveLength(1);
      expect(await payments(store)).toEqual(['issued', 'approved', 'consumed']);
    },
  );

  it.each(['before', 'after'] as const)(
    '[E6c] [T9] [T12] [T16d] and is given a yes %s the card expires with the other: the first of the two counts, once',
    async (when) => {
      const store = shared();
      const log: string[] = [];
      const { payment } = fourTools(log);
      const pay = call('process_payment', { amount: 50, recipient: 'Hanako' }, 'pay-1');
      const clock = new ManualClock();
      const elsewhere = new ManualClock();
      const options = { store, newId: randomUUID };
      const first = await live([[pay], [text('Paid.')]], [payment], { ...options, clock });
      const second = await live([[text('So be it.')]], [payment], { ...options, clock: elsewhere });
      const socket = await first.connect('?session=chat-1');
      socket.say('pay');
      const card = await socket.chunk('tool-approval-request');
      const other = await second.connect('?session=chat-1');
      await other.chunk('data-session');
      const decide = async () => {
        socket.send('message', decision(card));
        await socket.chunk('data-error');
      };
      if (when === 'before') await decide();
      elsewhere.advance(31_000);
      await other.done();
      if (when === 'after') await decide();
      const isPaid = when === 'before';
      expect(log).toHaveLength(isPaid ? 1 : 0);
      expect((await payments(store)).filter((kind) => kind !== 'refused')).toEqual(
        isPaid ? ['issued', 'approved', 'consumed'] : ['issued', 'expired'],
      );
      expect(other.chunks.map(({ type }) => type)).toContain(
        isPaid ? 'tool-output-available' : 'tool-output-error',
      );
    },
  );

  it('[E6] [T15] whose tool was running leaves its outcome unknown, whatever comes of it', async () => {
    const store = shared();
    const ends: (() => void)[] = [];
    const run = vi.fn(() => new Promise<string>((resolve) => ends.push(() => resolve('done'))));
    const slow = defineTool({ name: 'slow', description: 'Takes its time.', execute: run });
    const first = await live([[call('slow', {}, 'slow-1')], [text('Done.')]], [slow], {
      store,
      newId: randomUUID,
    });
    const second = harness([], [slow], { store, newId: randomUUID });
    const socket = await first.connect('?session=chat-1');
    socket.say('go');
    await expect.poll(() => run.mock.calls.length).toBe(1);
    await second.get('/sessions/chat-1');
    const messages = await store.loadMessages(key);
    const { events } = (await store.loadSession(key)) ?? { events: [] };
    expect(JSON.stringify(events)).toContain('outcome is unknown');
    for (const end of ends) end();
    expect(await socket.chunk('data-error')).toMatchObject({ data: { code: 'moved' } });
    expect(await store.loadMessages(key)).toEqual(messages);
    expect((await store.loadSession(key))?.events).toEqual(events);
    expect(run).toHaveBeenCalledTimes(1);
  });

  it('[E6] that is asked only to read gives what is stored', async () => {
    const store = shared();
    const first = harness([[text('One.')]], [], { store, newId: randomUUID });
    const second = harness([[text('Two.')]], [], { store, newId: randomUUID });
    await first.post(say('a'));
    await second.post(say('b'));
    const page = (await (await first.get('/sessions/chat-1')).json()) as { messages: never[] };
    expect(page.messages).toHaveLength(4);
  });
});
