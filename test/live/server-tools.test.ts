import { FunctionTool, LlmAgent, LongRunningFunctionTool, ParallelAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { createDuologue, createMemoryStore } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, read, say } from '../support/harness.ts';
import { decision, type LiveHarness, live } from '../support/live.ts';
import { calls, ScriptedModel, text } from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

/** Resolves when every microtask and callback that is due has run, several times over. */
async function pause(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A payment that reads the balance, waits a while, and writes what is left; the waits are given, one for each call. */
function payment(waits: number[], options: { needsApproval: boolean; key?: string }) {
  const { needsApproval, key = 'wallet' } = options;
  return defineTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({ amount: z.number(), to: z.string() }),
    needsApproval,
    execute: async ({ amount, to }, context) => {
      const balance = Number(context.state.get(key, 1000));
      await pause(waits.shift() ?? 0);
      if (balance < amount) throw new Error(`Balance: ${balance}`);
      context.state.set(key, balance - amount);
      return { to, balance: balance - amount };
    },
  });
}

const TWO = calls(
  { id: 'call-a', name: 'pay', args: { amount: 600, to: 'Ann' } },
  { id: 'call-b', name: 'pay', args: { amount: 600, to: 'Bob' } },
);
const INTERLEAVINGS = [
  [0, 0],
  [0, 3],
  [3, 0],
  [1, 1],
  [8, 2],
  [2, 8],
];

const ends = (chunks: readonly Chunk[]) => chunks.filter(({ type }) => type.startsWith('tool-output'));
const outcome = (chunks: readonly Chunk[]) =>
  ends(chunks)
    .map(({ type }) => type)
    .sort();
const ONE_OF_TWO = ['tool-output-available', 'tool-output-error'];

async function bothCards(socket: TestSocket) {
  return [
    await socket.chunk('tool-approval-request', 1),
    await socket.chunk('tool-approval-request', 2),
  ] as const;
}

const balanceOf = async (server: Pick<LiveHarness, 'model'>) =>
  JSON.stringify(server.model.requests.at(-1)?.contents).match(/"balance":(-?\d+)/g);

describe('two payments of 600 from 1,000', () => {
  for (const waits of INTERLEAVINGS) {
    for (const first of [0, 1]) {
      it(`[T22a] over BIDI, approved together, pay once (waits ${waits}, card ${first} first)`, async () => {
        const tool = payment([...waits], { needsApproval: true });
        const server = await live([[TWO], [text('So.')]], [tool], { approvals: 'parallel' });
        const socket = await server.connect();
        socket.say('pay both');
        const cards = await bothCards(socket);
        for (const card of first === 0 ? cards : [...cards].reverse()) socket.send('message', decision(card));
        await socket.done();
        expect(outcome(socket.chunks)).toEqual(ONE_OF_TWO);
        expect(await balanceOf(server)).toEqual(['"balance":400']);
      });
    }

    it(`[T22a] over SSE, approved in one request, pay once (waits ${waits})`, async () => {
      const tool = payment([...waits], { needsApproval: true });
      const server = harness([[TWO], [text('So.')]], [tool]);
      const asked = await server.post(say('pay both'));
      const parts = asked.chunks.flatMap((chunk) =>
        chunk.type === 'tool-approval-request'
          ? [
              {
                type: 'tool-pay',
                toolCallId: chunk.toolCallId,
                state: 'approval-responded',
                approval: { id: chunk.approvalId, approved: true },
              },
            ]
          : [],
      );
      const { chunks } = await server.post({
        id: 'chat-1',
        messages: [{ id: 'a', role: 'assistant', parts }],
      });
      expect(outcome(chunks)).toEqual(ONE_OF_TWO);
      expect(await balanceOf(server)).toEqual(['"balance":400']);
    });

    it(`[T22] over BIDI, by a tool that does not ask, pay once (waits ${waits})`, async () => {
      const tool = payment([...waits], { needsApproval: false });
      const server = await live([[TWO], [text('So.')]], [tool]);
      const socket = await server.connect();
      socket.say('pay both');
      await socket.done();
      expect(outcome(socket.chunks)).toEqual(ONE_OF_TWO);
      expect(await balanceOf(server)).toEqual(['"balance":400']);
    });

    it(`[T22] over SSE, by two agents side by side, pay once (waits ${waits})`, async () => {
      const tool = payment([...waits], { needsApproval: false });
      const payer = (name: string, id: string) =>
        new LlmAgent({
          name,
          model: new ScriptedModel([
            [calls({ id, name: 'pay', args: { amount: 600, to: name } })],
            [text('So.')],
          ]),
          tools: [tool],
        });
      const agent = new ParallelAgent({
        name: 'both',
        subAgents: [payer('left', 'call-a'), payer('right', 'call-b')],
      });
      const duologue = createDuologue({ agent });
      const response = await duologue.fetch(
        new Request('http://localhost/stream', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(say('pay both')),
        }),
      );
      expect(outcome((await read(response)).chunks)).toEqual(ONE_OF_TWO);
    });

    it(`[T23] from two conversations of one person, out of what both share, pay once (waits ${waits})`, async () => {
      const tool = payment([...waits], { needsApproval: true, key: 'user:wallet' });
      const one = calls({ id: 'call-a', name: 'pay', args: { amount: 600, to: 'Ann' } });
      const server = await live([[one], [one], [text('So.')], [text('So.')]], [tool]);
      const sockets = [await server.connect('?session=one'), await server.connect('?session=two')];
      const answers: object[] = [];
      for (const socket of sockets) {
        socket.say('pay');
        answers.push(decision(await socket.chunk('tool-approval-request')));
      }
      sockets.forEach((socket, index) => {
        socket.send('message', answers[index]);
      });
      for (const socket of sockets) await socket.done();
      const all = sockets.flatMap((socket) => ends(socket.chunks));
      expect(all.map(({ type }) => type).sort()).toEqual(ONE_OF_TWO);
      for (const end of all) {
        if (end.type !== 'tool-output-error') continue;
        expect([
          'Balance: 400',
          'pay ran, but another call had changed the same data: nothing of it was kept',
        ]).toContain(end.errorText);
      }
    });
  }
});

describe('a conflict', () => {
  /** Two conversations of one person; the tool of the first waits until the second has written. */
  function twoWriters() {
    let written: () => void = () => undefined;
    const second = new Promise<void>((resolve) => {
      written = resolve;
    });
    const add = defineTool({
      name: 'add',
      description: 'Adds',
      parameters: z.object({ waits: z.boolean() }),
      execute: async ({ waits }, context) => {
        const count = Number(context.state.get('user:count', 0));
        if (waits) await second;
        context.state.set('user:count', count + 1);
        context.state.set('mine', 'kept?');
        return { count: count + 1 };
      },
    });
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      execute: (_, context) => ({
        count: context.state.get('user:count', 0),
        mine: context.state.get('mine', 'nothing'),
      }),
    });
    return { add, look, written: () => written() };
  }
  const TEXT = 'add ran, but another call had changed the same data: nothing of it was kept';

  it('[T23a] [T5] ends the call over BIDI with its own text, keeps nothing of it, and the next call sees what is there', async () => {
    const { add, look, written } = twoWriters();
    const errors: string[] = [];
    const logger = { info() {}, warn() {}, error: (line: string) => void errors.push(line) };
    const server = await live(
      [
        [calls({ id: 'call-a', name: 'add', args: { waits: true } })],
        [calls({ id: 'call-b', name: 'add', args: { waits: false } })],
        [text('Added.')],
        [calls({ id: 'call-c', name: 'look', args: {} })],
        [text('So.')],
      ],
      [add, look],
      { logger },
    );
    const one = await server.connect('?session=one');
    one.say('slow');
    await one.chunk('tool-input-available');
    const two = await server.connect('?session=two');
    two.say('fast');
    await two.done();
    written();
    await one.done();
    expect(ends(one.chunks)).toEqual([
      { type: 'tool-output-error', toolCallId: 'call-a', errorText: TEXT },
      {
        type: 'tool-output-available',
        toolCallId: 'call-c',
        output: { count: 1, mine: 'nothing' },
      },
    ]);
    expect(JSON.stringify(server.model.lastContents)).toContain(TEXT);
    // The store works: no line asks the operator to check it.
    expect(errors).toEqual([]);
  });

  it('[T23a] [T5] ends the call inside the loop of an agent over SSE in the same way', async () => {
    const { add, look, written } = twoWriters();
    const server = harness(
      [
        [calls({ id: 'call-a', name: 'add', args: { waits: true } })],
        [calls({ id: 'call-b', name: 'add', args: { waits: false } })],
        [text('Added.')],
        [
          calls(
            { id: 'call-c', name: 'add', args: { waits: false } },
            { id: 'call-d', name: 'look', args: {} },
          ),
        ],
        [text('So.')],
      ],
      [add, look],
    );
    const slow = server.post(say('slow', 'one'));
    await until(() => server.model.requests.length === 1);
    await server.post(say('fast', 'two'));
    written();
    const { chunks } = await slow;
    expect(ends(chunks)).toEqual([
      { type: 'tool-output-error', toolCallId: 'call-a', errorText: TEXT },
      { type: 'tool-output-available', toolCallId: 'call-c', output: { count: 2 } },
      {
        type: 'tool-output-available',
        toolCallId: 'call-d',
        output: { count: 2, mine: 'kept?' },
      },
    ]);
    expect(await (await server.get('/sessions/one')).json()).toMatchObject({
      messages: [{}, { parts: [{ state: 'output-error', errorText: TEXT }, {}, {}, {}] }],
    });
  });
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(1);
}

/** Tools that say when they begin, and end when the test releases them. */
function held(names: string[], options: { concurrent?: boolean; deaf?: boolean } = {}) {
  const begun: string[] = [];
  const aborted: string[] = [];
  const ends = new Map<string, () => void>();
  const tools = names.map((name) =>
    defineTool({
      name,
      description: name,
      ...(options.concurrent ? { concurrent: true } : {}),
      execute: async (_, context) => {
        begun.push(name);
        await new Promise<void>((resolve) => {
          ends.set(name, resolve);
          context.abortSignal?.addEventListener('abort', () => {
            aborted.push(name);
            if (!options.deaf) resolve();
          });
        });
        context.state.set(name, 'done');
        return { name };
      },
    }),
  );
  return { tools, begun, aborted, end: (name: string) => ends.get(name)?.() };
}

const bothOf = (...names: string[]) =>
  calls(...names.map((name) => ({ id: `call-${name}`, name, args: {} })));

describe('the slot', () => {
  it('[T22] is held by one tool at a time, in the order of the calls', async () => {
    const { tools, begun, end } = held(['first', 'second']);
    const server = await live([[bothOf('first', 'second')], [text('So.')]], tools);
    const socket = await server.connect();
    socket.say('go');
    await socket.chunk('tool-input-available', 2);
    await until(() => begun.length > 0);
    await pause(20);
    expect(begun).toEqual(['first']);
    end('first');
    await socket.chunk('tool-output-available');
    await until(() => begun.length > 1);
    end('second');
    await socket.done();
  });

  it('[T22b] is not waited for by tools that change nothing: by definition, or by name', async () => {
    const own = held(['first', 'second'], { concurrent: true });
    const native = new FunctionTool({
      name: 'third',
      description: 'Looks',
      parameters: z.object({}),
      execute: () => ({ third: true }),
    });
    const busy = held(['fourth']);
    const server = await live(
      [[bothOf('fourth', 'first', 'second', 'third')], [text('So.')]],
      [...busy.tools, ...own.tools, native],
      { concurrentTools: ['third'] },
    );
    const socket = await server.connect();
    socket.say('go');
    expect((await socket.chunk('tool-output-available')).toolCallId).toBe('call-third');
    await until(() => own.begun.length === 2 && busy.begun.length === 1);
    for (const name of ['first', 'second']) own.end(name);
    busy.end('fourth');
    await socket.done();
  });

  it('[T22] [T17] is waited for by a call that does not ask, but a card is not', async () => {
    const { tools, begun, end } = held(['first']);
    const pay = payment([], { needsApproval: true });
    const server = await live(
      [
        [
          calls(
            { id: 'call-p', name: 'pay', args: { amount: 1, to: 'Ann' } },
            { id: 'call-first', name: 'first', args: {} },
          ),
        ],
        [text('So.')],
      ],
      [pay, ...tools],
    );
    const socket = await server.connect();
    socket.say('go');
    const card = await socket.chunk('tool-approval-request');
    await until(() => begun.length === 1);
    end('first');
    expect((await socket.chunk('tool-output-available')).toolCallId).toBe('call-first');
    socket.send('message', decision(card));
    await socket.done();
  });

  it('[T22b] [T13a] is given back by a long-running tool that waits for its client', async () => {
    const upload = new LongRunningFunctionTool({
      name: 'upload',
      description: 'Starts an upload',
      parameters: z.object({}),
      execute: () => undefined,
    });
    const { weather } = { weather: payment([], { needsApproval: false }) };
    const server = harness(
      [
        [
          calls(
            { id: 'call-u', name: 'upload', args: {} },
            { id: 'call-p', name: 'pay', args: { amount: 1, to: 'Ann' } },
          ),
        ],
        [text('So.')],
      ],
      [upload, weather],
    );
    const { chunks } = await server.post(say('go'));
    expect(ends(chunks)).toEqual([
      { type: 'tool-output-available', toolCallId: 'call-p', output: { to: 'Ann', balance: 999 } },
    ]);
  });

  it('[T22] [B6] is kept by a tool that does not listen to an interruption, until it ends', async () => {
    const first = held(['first'], { deaf: true });
    const second = held(['second']);
    const server = await live(
      [[bothOf('first')], [bothOf('second')], [text('So.')]],
      [...first.tools, ...second.tools],
    );
    const socket = await server.connect();
    socket.say('one');
    await until(() => first.begun.length === 1);
    socket.send('interrupt');
    await socket.done();
    socket.say('two');
    await socket.chunk('tool-input-available', 2);
    await pause(20);
    expect([second.begun, first.aborted]).toEqual([[], ['first']]);
    first.end('first');
    await until(() => second.begun.length === 1);
    second.end('second');
    await socket.done(2);
    expect(ends(socket.chunks).map(({ type }) => type)).toEqual([
      'tool-output-error',
      'tool-output-available',
    ]);
  });

  it('[T22] [S8] does not keep a stopped turn from the next one over SSE', async () => {
    const first = held(['first'], { deaf: true });
    const server = await live([[bothOf('first')], [text('Next.')]], first.tools);
    const socket = await server.connect('?session=both');
    socket.say('one');
    await until(() => first.begun.length === 1);
    socket.send('interrupt');
    await socket.done();
    const { chunks } = await server.post(say('two', 'both'));
    expect(chunks.at(-1)?.type).toBe('finish');
    first.end('first');
  });
});

describe('a deadline', () => {
  it('[T24] [T5] ends a server tool over BIDI, tells it to stop, and lets the next one run', async () => {
    const clock = new ManualClock();
    const slow = held(['slow'], { deaf: true });
    const next = held(['next']);
    const server = await live([[bothOf('slow', 'next')], [text('So.')]], [...slow.tools, ...next.tools], {
      clock,
      socketLimits: { silenceMs: Number.POSITIVE_INFINITY },
    });
    const socket = await server.connect();
    socket.say('go');
    await until(() => slow.begun.length === 1);
    clock.advance(59_999);
    await pause(5);
    expect(next.begun).toEqual([]);
    clock.advance(1);
    expect(await socket.chunk('tool-output-error')).toMatchObject({
      toolCallId: 'call-slow',
      errorText: 'slow did not finish in time. The outcome is unknown.',
    });
    expect(slow.aborted).toEqual(['slow']);
    await until(() => next.begun.length === 1);
    next.end('next');
    await socket.chunk('tool-output-available');
    slow.end('slow');
  });

  it('[T24] [T5] ends a server tool over SSE, and what it still writes is not kept', async () => {
    const clock = new ManualClock();
    const slow = held(['slow'], { deaf: true });
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      execute: (_, context) => {
        slow.end('slow');
        return { slow: context.state.get('slow', 'nothing') };
      },
    });
    const later = defineTool({
      name: 'later',
      description: 'Looks later',
      execute: (_, context) => ({ slow: context.state.get('slow', 'nothing') }),
    });
    const server = harness(
      [[bothOf('slow')], [bothOf('look')], [bothOf('later')], [text('So.')]],
      [...slow.tools, look, later],
      { clock, toolTimeoutMs: 5000 },
    );
    const posted = server.post(say('go'));
    await until(() => slow.begun.length === 1);
    clock.advance(5000);
    const { chunks } = await posted;
    expect(ends(chunks)).toEqual([
      {
        type: 'tool-output-error',
        toolCallId: 'call-slow',
        errorText: 'slow did not finish in time. The outcome is unknown.',
      },
      { type: 'tool-output-available', toolCallId: 'call-look', output: { slow: 'nothing' } },
      { type: 'tool-output-available', toolCallId: 'call-later', output: { slow: 'nothing' } },
    ]);
  });
});

describe('a process that dies', () => {
  it('[T15b] [T22] leaves a call that waited for the slot to be run, and one that ran unknown', async () => {
    const store = createMemoryStore();
    store.close = async () => undefined;
    const before = held(['first', 'second'], { deaf: true });
    const pay = () => payment([], { needsApproval: true });
    const server = await live(
      [
        [
          calls(
            { id: 'call-first', name: 'first', args: {} },
            { id: 'call-second', name: 'second', args: {} },
            { id: 'call-p', name: 'pay', args: { amount: 600, to: 'Ann' } },
          ),
        ],
      ],
      [...before.tools, pay()],
      { store },
    );
    const socket = await server.connect('?session=died');
    socket.say('go');
    const card = await socket.chunk('tool-approval-request');
    await until(() => before.begun.length === 1);
    socket.send('message', decision(card));
    const key = { app: 'duologue', user: 'live_user', id: 'died' };
    const statuses = async () => (await store.openCalls(key)).map(({ id, status }) => `${id} ${status}`);
    while (!(await statuses()).includes('call-p approved')) await pause(1);
    expect(await statuses()).toEqual(['call-first running', 'call-second ready', 'call-p approved']);

    const after = held(['first', 'second']);
    const next = await live([[text('So.')]], [...after.tools, pay()], { store });
    const back = await next.connect('?session=died&last=x-1');
    await until(() => after.begun.length === 1);
    after.end('second');
    await back.done();
    expect(after.begun).toEqual(['second']);
    expect(await (await next.get('/sessions/died')).json()).toMatchObject({
      messages: [
        {},
        {
          parts: [
            {
              toolCallId: 'call-first',
              errorText:
                'The outcome is unknown: the server stopped while the tool was running. It was not run again.',
            },
            { toolCallId: 'call-second', output: { name: 'second' } },
            { toolCallId: 'call-p', output: { balance: 400 } },
            {},
          ],
        },
      ],
    });
  });
});
