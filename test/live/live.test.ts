import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../src/protocol/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { say, shape } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, calls, streamed, text } from '../support/scripted-model.ts';

const PAY_ALICE = { name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
const PAY_BOB = { name: 'process_payment', args: { amount: 40, recipient: 'Bob' } };
const CARD = [
  'tool-input-start',
  'tool-input-available',
  'start-step',
  'tool-approval-request',
  'finish-step',
];
const WORDS = ['text-start', 'text-delta', 'text-end'];

describe('a turn over BIDI', () => {
  it('[B10] greets with the session, then [B13] streams text and ends with one [DONE]', async () => {
    const { connect } = await live([streamed('Hel', 'lo')]);
    const socket = await connect();
    const greeting = await socket.chunk('data-session');
    expect(greeting.data).toMatchObject({ resumed: false });
    expect(greeting.data.sessionId).toBe(`session_live_user_${greeting.data.connectionId}`);
    socket.say('hi');
    await socket.done();
    expect(shape(socket.chunks)).toEqual(['start', ...WORDS, 'finish']);
  });

  it('runs a server tool beside the run', async () => {
    const { weather } = fourTools();
    const { connect } = await live([[call('get_weather', { location: 'Tokyo' })], [text('20')]], [weather]);
    const socket = await connect();
    socket.say('weather');
    await socket.done();
    expect(shape(socket.chunks)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'tool-output-available',
      ...WORDS,
      'finish',
    ]);
  });

  it('[B12] [B13] [T17] asks one after the other and goes on after each answer', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { connect } = await live([[calls(PAY_ALICE, PAY_BOB)], [text('Alice paid, Bob not.')]], [payment]);
    const socket = await connect();
    socket.say('pay both');
    const alice = await socket.chunk('tool-approval-request');
    await socket.chunk('finish-step');
    expect(shape(socket.chunks)).toEqual(['start', ...CARD]);
    expect(socket.dones).toBe(0);
    socket.send('message', decision(alice));
    const bob = await socket.chunk('tool-approval-request', 2);
    socket.send('message', decision(bob, false));
    await socket.done();
    expect(shape(socket.chunks)).toEqual([
      'start',
      ...CARD,
      'tool-output-available',
      ...CARD,
      'tool-output-error',
      ...WORDS,
      'finish',
    ]);
    expect(log).toEqual(['pay Alice 30']);
    expect(socket.dones).toBe(1);
  });

  it.each(['live', 'turn'] as const)(
    '[T30] [T30a] tells with each request how many of its message follow, driver %s',
    async (driver) => {
      const { payment, weather } = fourTools([]);
      const oslo = { name: 'get_weather', args: { location: 'Oslo' } };
      const carol = { name: 'process_payment', args: { amount: 50, recipient: 'Carol' } };
      const { connect } = await live(
        [[calls(PAY_ALICE, oslo, PAY_BOB, carol)], [text('Done.')]],
        [payment, weather],
        { driver },
      );
      const socket = await connect();
      socket.say('pay all');
      const queued: unknown[] = [];
      for (let n = 1; n <= 3; n++) {
        const card = await socket.chunk('tool-approval-request', n);
        queued.push((card.approvalDescriptor as { queued?: number }).queued);
        socket.send('message', decision(card, n !== 2));
      }
      await socket.done();
      expect(queued).toEqual([2, 1, undefined]);
    },
  );

  it('[T17a] shows cards together when it is set to, answered in any order, each resuming on its own', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { connect, model } = await live([[calls(PAY_ALICE, PAY_BOB)], [text('Both paid.')]], [payment], {
      approvals: 'parallel',
    });
    const socket = await connect();
    socket.say('pay both');
    const bob = await socket.chunk('tool-approval-request', 2);
    const alice = await socket.chunk('tool-approval-request', 1);
    socket.send('message', decision(bob));
    const first = await socket.chunk('tool-output-available');
    expect(first.toolCallId).toBe(bob.toolCallId);
    expect(model.requests).toHaveLength(1);
    socket.send('tool_result', { toolCallId: alice.toolCallId, status: 'approved', result: null });
    await socket.done();
    expect(log).toEqual(['pay Bob 40', 'pay Alice 30']);
    expect(model.requests).toHaveLength(2);
  });

  it.each([
    ['before', calls({ name: 'get_weather', args: { location: 'Oslo' } }, PAY_ALICE)],
    ['behind', calls(PAY_ALICE, { name: 'get_weather', args: { location: 'Oslo' } })],
  ])('[T17c] a plain call %s an asking one never waits for it', async (_, both) => {
    const log: string[] = [];
    const { weather, payment } = fourTools(log);
    const { connect } = await live([[both], [text('done')]], [weather, payment]);
    const socket = await connect();
    socket.say('both');
    const card = await socket.chunk('tool-approval-request');
    await socket.chunk('tool-output-available');
    expect(log).toEqual(['weather Oslo']);
    socket.send('message', decision(card));
    await socket.done();
    expect(log).toEqual(['weather Oslo', 'pay Alice 30']);
    expect(shape(socket.chunks).slice(-4)).toEqual([...WORDS, 'finish']);
  });

  it('[T4b] a denial reaches the model with its reason, the tool never runs, the turn goes on', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { connect, model } = await live([[calls(PAY_ALICE)], [text('I see.')]], [payment]);
    const socket = await connect();
    socket.say('pay');
    const { toolCallId } = await socket.chunk('tool-approval-request');
    socket.send('tool_result', { toolCallId, status: 'rejected', reason: 'too much' });
    await socket.done();
    expect((await socket.chunk('tool-output-error')).errorText).toBe('User denied the tool call: too much');
    expect(log).toEqual([]);
    expect(JSON.stringify(model.lastContents)).toContain('User denied the tool call: too much');
  });

  it('[T13] a browser tool is answered by tool_result, and {} is a result', async () => {
    const { music } = fourTools();
    const { connect, model } = await live([[call('change_bgm', { track: 1 })], [text('Playing.')]], [music]);
    const socket = await connect();
    socket.say('music');
    const input = await socket.chunk('tool-input-available');
    expect(input.toolMetadata).toEqual({ runsOn: 'client', asks: false });
    socket.send('tool_result', { toolCallId: input.toolCallId, result: {} });
    await socket.done();
    expect((await socket.chunk('tool-output-available')).output).toEqual({});
    expect(JSON.stringify(model.lastContents)).toContain('"functionResponse"');
  });

  it('[T19] a browser tool that asks takes the decision first and the output later, or both at once', async () => {
    const { location } = fourTools();
    const { connect } = await live(
      [[call('get_location')], [text('Tokyo.')], [call('get_location')], [text('Still Tokyo.')]],
      [location],
    );
    const socket = await connect();
    socket.say('where am I');
    const first = await socket.chunk('tool-approval-request');
    // An output that comes before its approval is not looked at.
    socket.send('tool_result', { toolCallId: first.toolCallId, result: { latitude: 0 } });
    await socket.chunk('data-error');
    socket.send('message', decision(first));
    socket.send('tool_result', { toolCallId: first.toolCallId, result: { latitude: 35.7 } });
    await socket.done(1);
    expect((await socket.chunk('tool-output-available', 1)).output).toEqual({ latitude: 35.7 });
    socket.say('and now');
    const second = await socket.chunk('tool-approval-request', 2);
    socket.send('message', decision(second, true, { state: 'output-available', output: { latitude: 1 } }));
    await socket.done(2);
    expect((await socket.chunk('tool-output-available', 2)).output).toEqual({ latitude: 1 });
  });

  it('[S13] what was said over SSE is known over BIDI and the other way round', async () => {
    const { connect, post, model, get } = await live([[text('Hello Ken.')], [text('Ken.')], [text('Yes.')]]);
    await post(say('I am Ken', 'shared'));
    const socket = await connect('?session=shared');
    socket.say('who am I');
    await socket.done();
    expect(JSON.stringify(model.lastContents)).toContain('I am Ken');
    socket.close();
    await post(say('sure?', 'shared'));
    expect(model.lastContents.map(({ role, parts }) => [role, parts?.[0]?.text])).toEqual([
      ['user', 'I am Ken'],
      ['model', 'Hello Ken.'],
      ['user', 'who am I'],
      ['model', 'Ken.'],
      ['user', 'sure?'],
    ]);
    const { messages } = (await (await get('/sessions/shared')).json()) as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
  });

  it('[S13] [C6] [T18b] a card of an SSE response is answered over BIDI: its output comes behind a start', async () => {
    const { payment } = fourTools();
    const { connect, post } = await live([[calls(PAY_ALICE)], [text('Paid.')]], [payment]);
    const first = await post(say('pay', 'switch'));
    const card = first.chunks.find((chunk) => chunk.type === 'tool-approval-request');
    const socket = await connect('?session=switch');
    socket.send('message', decision(card as Extract<Chunk, { type: 'tool-approval-request' }>));
    // The first end is that of the SSE response, given again.
    await socket.done(2);
    const own = socket.chunks.slice(socket.chunks.findLastIndex(({ type }) => type === 'start'));
    expect(shape(own)).toEqual(['start', 'tool-output-available', ...WORDS, 'finish']);
  });

  it('[B2] images in a message reach the model', async () => {
    const { connect, model } = await live([[text('A dot.')]]);
    const socket = await connect();
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    socket.send('message', {
      messages: [
        {
          role: 'user',
          parts: [
            { type: 'text', text: 'what is this' },
            { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${png}` },
          ],
        },
      ],
    });
    await socket.done();
    expect(model.lastContents[0]?.parts?.[1]?.inlineData).toMatchObject({ mimeType: 'image/png', data: png });
  });
});

describe('the confirmation dialect over BIDI', () => {
  it.each([true, false])(
    '[T21b] [T21c] [B3c] shows the confirmation, then the original call; confirmed: %s',
    async (confirmed) => {
      const log: string[] = [];
      const { payment } = fourTools(log);
      const { connect } = await live([[calls(PAY_ALICE)], [text('Done.')]], [payment], {
        confirmations: 'tool',
      });
      const socket = await connect();
      socket.say('pay');
      const asked = await socket.chunk('tool-input-available');
      expect(asked.toolName).toBe('adk_request_confirmation');
      const { originalFunctionCall } = asked.input as { originalFunctionCall: { id: string; name: string } };
      expect(asked.toolCallId).not.toBe(originalFunctionCall.id);
      socket.send('tool_result', {
        toolCallId: asked.toolCallId,
        toolName: 'adk_request_confirmation',
        result: { confirmed },
      });
      await socket.done();
      const described = socket.chunks.map((chunk: Chunk) =>
        'toolName' in chunk ? `${chunk.type} ${chunk.toolName}` : chunk.type,
      );
      expect(described).toEqual([
        'start',
        'tool-input-start adk_request_confirmation',
        'tool-input-available adk_request_confirmation',
        'tool-output-available',
        'tool-input-start process_payment',
        'tool-input-available process_payment',
        confirmed ? 'tool-output-available' : 'tool-output-error',
        'text-start',
        'text-delta',
        'text-end',
        'finish',
      ]);
      expect(log).toEqual(confirmed ? ['pay Alice 30'] : []);
      expect(socket.dones).toBe(1);
    },
  );
});
