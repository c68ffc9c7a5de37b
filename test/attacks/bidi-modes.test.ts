import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { read, say, shape } from '../support/harness.ts';
import { decision, type LiveHarness, live } from '../support/live.ts';
import { call, calls, partial, type ScriptedTurn, streamed, text } from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';

failOnUnhandled();

const PAY_ALICE = { id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
const PAY_BOB = { id: 'call-b', name: 'process_payment', args: { amount: 40, recipient: 'Bob' } };

/** A promise that a test resolves when it wants. */
function latch() {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), passed };
}

/** A tool that runs until the gate is opened. */
function slowTool(log: string[], gate: Promise<void>) {
  return defineTool({
    name: 'slow',
    description: 'Takes its time',
    parameters: z.object({}),
    execute: async () => {
      log.push('slow begins');
      await gate;
      log.push('slow ends');
      return { ok: true };
    },
  });
}

async function session(
  server: LiveHarness,
  id: string,
): Promise<{ isRunning: boolean; messages: unknown[] }> {
  return (await (await server.get(`/sessions/${id}`)).json()) as { isRunning: boolean; messages: unknown[] };
}

describe('both modes on one session', () => {
  it('[S10] a post waits for the live turn to end, and neither hurts the other', async () => {
    const { open, passed } = latch();
    const slow: ScriptedTurn = async function* () {
      yield partial('Live ');
      await passed;
      yield partial('answer.');
      yield text('Live answer.');
    };
    const server = await live([slow, streamed('Posted ', 'answer.')]);
    const socket = await server.connect('?session=both');
    socket.say('live');
    await socket.chunk('text-delta');
    const posted = server.post(say('posted', 'both'));
    await settled();
    expect(server.model.requests).toHaveLength(1);
    open();
    const { chunks } = await posted;
    expect(shape(chunks)).toEqual(['start', 'text-start', 'text-delta', 'text-end', 'finish']);
    await socket.done(2);
    const texts = socket.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []));
    expect(texts.join('')).toBe('Live answer.Posted answer.');
    expect(socket.chunks.filter(({ type }) => type === 'error')).toEqual([]);
  });

  it('[T12] a tool that ends live while a posted turn runs opens no way around the approval', async () => {
    const log: string[] = [];
    const tool = latch();
    const turn = latch();
    const clock = new ManualClock();
    const posted: ScriptedTurn = async function* () {
      yield partial('Wait. ');
      await turn.passed;
      yield calls(PAY_ALICE);
    };
    const { payment } = fourTools(log);
    const server = await live(
      [[call('slow')], [text('Slow is done.')], posted, [text('Paid.')]],
      [slowTool(log, tool.passed), payment],
      { clock, socketLimits: { silenceMs: Number.POSITIVE_INFINITY }, retryPolicy: { nextTokenMs: null } },
    );
    const socket = await server.connect('?session=gate');
    socket.say('slow');
    await socket.chunk('tool-input-available');
    const answer = server.post(say('pay', 'gate'));
    await settled();
    tool.open();
    await settled();
    // The socket goes, and its live run with it, while the posted turn is in the middle.
    socket.socket.terminate();
    await settled();
    clock.advance(61_000);
    await settled();
    turn.open();
    const { chunks } = await answer;
    expect(shape(chunks).filter((type) => type.startsWith('tool-'))).toEqual([
      'tool-input-start',
      'tool-input-available',
      'tool-approval-request',
    ]);
    expect(log).toEqual(['slow begins', 'slow ends']);
  });

  it('[S13] a card shown live is answered over SSE, the one behind it comes there, and back again', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const server = await live([[calls(PAY_ALICE, PAY_BOB)], [text('Both paid.')], [text('Yes.')]], [payment]);
    const socket = await server.connect('?session=switch');
    socket.say('pay both');
    const first = await socket.chunk('tool-approval-request');
    const posted = await server.post({ id: 'switch', ...decision(first) });
    const second = posted.chunks.find((chunk) => chunk.type === 'tool-approval-request');
    expect(second).toMatchObject({ toolCallId: 'call-b' });
    expect(posted.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' });
    const back = await server.connect('?session=switch');
    back.send('message', decision(second as Parameters<typeof decision>[0]));
    await back.chunk('tool-output-available', 2);
    await back.until((all) =>
      all.some(
        (one) => one.kind === 'chunk' && one.chunk.type === 'finish' && one.chunk.finishReason === 'stop',
      ),
    );
    expect(log).toEqual(['pay Alice 30', 'pay Bob 40']);
    const { messages } = await session(server, 'switch');
    expect(messages).toHaveLength(2);
    expect(JSON.stringify(messages[1])).toContain('Both paid.');
  });

  it('[S13] a card shown over SSE is answered live', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const server = await live([[calls(PAY_ALICE)], [text('Paid.')]], [payment]);
    const { chunks } = await server.post(say('pay', 'other'));
    const card = chunks.find((chunk) => chunk.type === 'tool-approval-request');
    const socket = await server.connect('?session=other');
    socket.send('message', decision(card as Parameters<typeof decision>[0]));
    await socket.chunk('tool-output-available');
    await socket.done(1);
    expect(log).toEqual(['pay Alice 30']);
    expect((await session(server, 'other')).messages).toHaveLength(2);
  });

  it('[S8a] stop over HTTP interrupts a live turn, and the next message works', async () => {
    const slow: ScriptedTurn = async function* (_request, _stream, signal) {
      yield partial('Once upon');
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    };
    const server = await live([slow, [text('Yes?')]]);
    const socket = await server.connect('?session=stop');
    socket.say('story');
    await socket.chunk('text-delta');
    expect((await session(server, 'stop')).isRunning).toBe(true);
    const stop = () =>
      server.duologue
        .fetch(new Request('http://localhost/sessions/stop/stop', { method: 'POST' }))
        .then((response) => response.json());
    expect(await stop()).toEqual({ stopped: true });
    await socket.done();
    expect(socket.chunks.at(-1)).toMatchObject({
      finishReason: 'other',
      messageMetadata: { interrupted: true },
    });
    expect((await session(server, 'stop')).isRunning).toBe(false);
    expect(await stop()).toEqual({ stopped: false });
    socket.say('hello');
    await socket.done(2);
  });

  it('[B6] an interruption on the socket stops a posted turn of the session, too', async () => {
    const slow: ScriptedTurn = async function* (_request, _stream, signal) {
      yield partial('Once upon');
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    };
    const server = await live([slow]);
    const socket = await server.connect('?session=stop');
    const posted = server.post(say('story', 'stop'));
    await socket.chunk('text-delta');
    socket.send('interrupt');
    expect((await posted).chunks.at(-1)).toMatchObject({ messageMetadata: { interrupted: true } });
  });

  it('[B6a] what was typed before an interruption is answered after it', async () => {
    const slow: ScriptedTurn = async function* (_request, _stream, signal) {
      yield partial('Once upon');
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    };
    const server = await live([slow, [text('Short.')]]);
    const socket = await server.connect();
    socket.say('story');
    await socket.chunk('text-delta');
    socket.say('short please');
    await settled();
    socket.send('interrupt');
    await socket.done(2);
    expect(socket.chunks.at(-2)).toMatchObject({ type: 'text-end' });
    expect(server.model.left).toBe(0);
  });

  it('[R1] [S13] [R3c] a live turn in progress is read over SSE, to its end and to its pause, without steps', async () => {
    const { open, passed } = latch();
    const slow: ScriptedTurn = async function* () {
      yield partial('Paying. ');
      await passed;
      yield {
        content: { role: 'model', parts: [{ text: 'Paying. ' }, { functionCall: PAY_ALICE }] },
        partial: false,
      };
    };
    const { payment } = fourTools();
    const server = await live([slow, [text('Paid.')]], [payment]);
    const socket = await server.connect('?session=peek');
    socket.say('pay');
    await socket.chunk('text-delta');
    const peek = server.get('/stream/peek/stream');
    const first = read(await peek);
    open();
    const card = await socket.chunk('tool-approval-request');
    const { chunks, dones } = await first;
    expect([shape(chunks), dones]).toEqual([
      [
        'start',
        'text-start',
        'text-delta',
        'text-end',
        'tool-input-start',
        'tool-input-available',
        'tool-approval-request',
        'finish',
      ],
      1,
    ]);
    // Nothing is in progress while only the person is waited for.
    expect((await server.get('/stream/peek/stream')).status).toBe(204);
    socket.send('message', decision(card));
    await socket.done();
    expect((await server.get('/stream/peek/stream')).status).toBe(204);
  });
});

describe('a session that is deleted', () => {
  const remove = (server: LiveHarness, id: string) =>
    server.duologue.fetch(new Request(`http://localhost/sessions/${id}`, { method: 'DELETE' }));

  it('[S14] [E5a] takes its connection, its live turn and its open card with it', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const server = await live([[calls(PAY_ALICE)], [text('Anew.')]], [payment]);
    const socket = await server.connect('?session=gone');
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    expect((await remove(server, 'gone')).status).toBe(204);
    expect(await socket.closed()).toBe(4404);
    expect(server.duologue.sockets.size).toBe(0);
    expect((await server.get('/sessions/gone')).status).toBe(404);
    const anew = await server.connect('?session=gone');
    anew.send('message', decision(card));
    expect((await anew.chunk('data-error')).data.code).toBe('answer_refused');
    anew.say('hello');
    await anew.done();
    expect(log).toEqual([]);
  });

  it('[S14] in mid-sentence and in mid-tool: nothing of it comes back', async () => {
    const log: string[] = [];
    const { open, passed } = latch();
    const endless: ScriptedTurn = async function* (_request, _stream, signal) {
      yield partial('Once');
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    };
    const server = await live([endless, [call('slow')]], [slowTool(log, passed)]);
    const speaking = await server.connect('?session=speaking');
    speaking.say('story');
    await speaking.chunk('text-delta');
    const working = await server.connect('?session=working');
    working.say('slow');
    await working.chunk('tool-input-available');
    await settled();
    expect((await remove(server, 'speaking')).status).toBe(204);
    expect((await remove(server, 'working')).status).toBe(204);
    expect([await speaking.closed(), await working.closed()]).toEqual([4404, 4404]);
    open();
    await settled();
    expect(log).toEqual(['slow begins', 'slow ends']);
    expect(await (await server.get('/sessions')).json()).toEqual({ sessions: [] });
  });

  it('a session renamed in mid-turn keeps its name', async () => {
    const { open, passed } = latch();
    const slow: ScriptedTurn = async function* () {
      yield partial('One ');
      await passed;
      yield text('One two.');
    };
    const server = await live([slow]);
    const socket = await server.connect('?session=named');
    socket.say('count');
    await socket.chunk('text-delta');
    await server.duologue.fetch(
      new Request('http://localhost/sessions/named', {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: '{"title":"Numbers"}',
      }),
    );
    open();
    await socket.done();
    expect(await session(server, 'named')).toMatchObject({ title: 'Numbers' });
  });
});
