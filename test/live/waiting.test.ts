import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { shape } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, calls, partial, type ScriptedFunction, streamed, text } from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';

const PAY_ALICE = { name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };

/** A turn that says one piece and then waits until it is released or aborted. */
function held(first: string, rest: string) {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let wasAborted = false;
  const turn: ScriptedFunction = async function* (_request, _stream, signal) {
    yield partial(first);
    await new Promise<void>((resolve) => {
      released.then(resolve);
      signal?.addEventListener('abort', () => resolve());
    });
    wasAborted = signal?.aborted ?? false;
    if (wasAborted) return;
    yield partial(rest);
    yield text(first + rest);
  };
  return { turn, release: () => release(), wasAborted: () => wasAborted };
}

describe('time', () => {
  it('[T16b] [T5] [T11b] a card that nobody answers times out, the agent speaks about it, and a late answer changes nothing', async () => {
    const clock = new ManualClock();
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { connect, model } = await live([[calls(PAY_ALICE)], [text('Too late.')]], [payment], { clock });
    const socket = await connect();
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    expect(card.approvalDescriptor).toEqual({ expiresAt: clock.now() + 30_000 });
    clock.advance(30_000);
    const output = await socket.chunk('tool-output-error');
    expect(output.errorText).toBe('Approval request timed out');
    await socket.until(() => {
      clock.advance(20);
      return socket.dones === 1;
    });
    expect(shape(socket.chunks).slice(-4)).toEqual(['text-start', 'text-delta', 'text-end', 'finish']);
    expect(JSON.stringify(model.lastContents)).toContain('Approval request timed out');
    socket.send('message', decision(card));
    expect((await socket.chunk('data-error')).data.code).toBe('nothing_to_answer');
    expect(log).toEqual([]);
  });

  it('[T16c] a browser that never answers times out after its approval', async () => {
    const clock = new ManualClock();
    const { location } = fourTools();
    const { connect } = await live([[call('get_location')], [text('No idea.')]], [location], {
      clock,
      socketLimits: { silenceMs: Number.POSITIVE_INFINITY },
    });
    const socket = await connect();
    socket.say('where');
    const card = await socket.chunk('tool-approval-request');
    socket.send('message', { ...decision(card), requestId: 'r1' });
    await socket.chunk('data-accepted');
    clock.advance(59_000);
    expect(socket.chunks.some(({ type }) => type === 'tool-output-error')).toBe(false);
    clock.advance(1_000);
    expect((await socket.chunk('tool-output-error')).errorText).toBe(
      'Timeout waiting for get_location result',
    );
  });
});

describe('interrupting', () => {
  it('[B6] stops the generation, and the next message works', async () => {
    const slow = held('Once upon', ' a time');
    const { connect, model } = await live([slow.turn, [text('Yes?')]]);
    const socket = await connect();
    socket.say('story');
    await socket.chunk('text-delta');
    socket.send('interrupt', { reason: 'user_abort' });
    await socket.done();
    expect(slow.wasAborted()).toBe(true);
    expect(shape(socket.chunks)).toEqual(['start', 'text-start', 'text-delta', 'text-end', 'finish']);
    expect(socket.chunks.at(-1)).toMatchObject({
      finishReason: 'other',
      messageMetadata: { interrupted: true },
    });
    socket.say('hello');
    await socket.done(2);
    expect(shape(socket.chunks).slice(-5)).toEqual([
      'start',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
    expect(JSON.stringify(model.lastContents)).toContain('Once upon');
  });

  it('[B6] [T5] ends an open card as interrupted, runs nothing, and leaves no call unanswered', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { connect, model } = await live([[calls(PAY_ALICE)], [text('Fine.')]], [payment]);
    const socket = await connect();
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    socket.send('interrupt');
    await socket.done();
    expect((await socket.chunk('tool-output-error')).errorText).toBe('Interrupted by the user');
    socket.send('message', decision(card));
    expect((await socket.chunk('data-error')).data.code).toBe('nothing_to_answer');
    socket.say('never mind');
    await socket.done(2);
    expect(log).toEqual([]);
    expect(model.requests).toHaveLength(2);
    const parts = model.lastContents.flatMap((content) => content.parts ?? []);
    expect(parts.filter((part) => part.functionCall)).toHaveLength(1);
    expect(parts.filter((part) => part.functionResponse)).toHaveLength(1);
  });

  it('[B6] an interruption when nothing happens changes nothing', async () => {
    const { connect } = await live([[text('Hi.')]]);
    const socket = await connect();
    socket.send('interrupt');
    socket.say('hello');
    await socket.done();
    expect(shape(socket.chunks)).toEqual(['start', 'text-start', 'text-delta', 'text-end', 'finish']);
  });

  it('[B6a] a message sent right behind the interruption gets its own whole answer', async () => {
    const slow = held('Once', ' more');
    const { connect } = await live([slow.turn, streamed('Quick', ' answer')]);
    const socket = await connect();
    socket.say('story');
    await socket.chunk('text-delta');
    socket.send('interrupt');
    socket.say('short please');
    await socket.done(2);
    const second = socket.chunks.slice(socket.chunks.findLastIndex(({ type }) => type === 'start'));
    expect(second.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : [])).join('')).toBe(
      'Quick answer',
    );
    expect(second.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
  });
});

describe('speaking while something is open', () => {
  it('[B14] [T18a] the agent answers a message typed while a card is open, and the card stays answerable', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { connect, model, get } = await live(
      [[calls(PAY_ALICE)], [text('Sunny.')], [text('And Alice has her money.')]],
      [payment],
    );
    const socket = await connect('?session=typing');
    socket.say('pay Alice');
    const card = await socket.chunk('tool-approval-request');
    const first = await socket.chunk('start');
    socket.say('how is the weather');
    await socket.done(1);
    expect(JSON.stringify(model.requests[1]?.contents)).toContain('pending');
    socket.send('message', decision(card));
    await socket.done(2);
    expect(log).toEqual(['pay Alice 30']);
    const third = await socket.chunk('start', 3);
    expect(third.messageId).toBe(first.messageId);
    expect(shape(socket.chunks.slice(socket.chunks.lastIndexOf(third)))).toEqual([
      'start',
      'tool-output-available',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
    const { messages } = (await (await get('/sessions/typing')).json()) as {
      messages: { id: string; parts: { type: string; state?: string; text?: string }[] }[];
    };
    const stored = messages.find(({ id }) => id === first.messageId);
    expect(stored?.parts.map(({ type, state, text: words }) => [type, state, words])).toEqual([
      ['tool-process_payment', 'output-available', undefined],
      ['text', 'done', 'And Alice has her money.'],
    ]);
  });

  it('[B16] a message typed while the agent speaks waits for its turn', async () => {
    const slow = held('One', ' two');
    const { connect } = await live([slow.turn, [text('Second.')]]);
    const socket = await connect();
    socket.say('first');
    await socket.chunk('text-delta');
    socket.say('second');
    await settled();
    expect(socket.chunks.filter(({ type }) => type === 'start')).toHaveLength(1);
    slow.release();
    await socket.done(2);
    expect(socket.chunks.filter(({ type }) => type === 'start')).toHaveLength(2);
  });

  it('[B16a] or interrupts, when the server is set to it', async () => {
    const slow = held('One', ' two');
    const { connect } = await live([slow.turn, [text('Second.')]], [], { whenBusy: 'interrupt' });
    const socket = await connect();
    socket.say('first');
    await socket.chunk('text-delta');
    socket.say('second');
    await socket.done(2);
    expect(slow.wasAborted()).toBe(true);
    const finishes = socket.chunks.filter(({ type }) => type === 'finish');
    expect(finishes[0]).toMatchObject({ messageMetadata: { interrupted: true } });
  });

  it('[B7] pong comes at once while a tool runs', async () => {
    let finish: (value: unknown) => void = () => undefined;
    const slow = defineTool({
      name: 'get_weather',
      description: 'Slow',
      parameters: z.object({ location: z.string() }),
      execute: () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    });
    const { connect } = await live([[call('get_weather', { location: 'Rome' })], [text('Hot.')]], [slow]);
    const socket = await connect();
    socket.say('weather');
    await socket.chunk('tool-input-available');
    socket.send('ping', { timestamp: 42 });
    await socket.until((all) => all.some((one) => one.kind === 'raw'));
    expect(socket.received.find((one) => one.kind === 'raw')).toEqual({
      kind: 'raw',
      value: { type: 'pong', timestamp: 42 },
    });
    expect(socket.chunks.some(({ type }) => type === 'tool-output-available')).toBe(false);
    finish({ temperature: 30 });
    await socket.done();
  });
});
