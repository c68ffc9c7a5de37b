import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod/v4';
import { markUnreadable } from '../../src/adk/history.ts';
import { defineTool } from '../../src/adk/index.ts';
import { Grammar } from '../../src/protocol/index.ts';
import { harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, calls, ScriptedModel, text } from '../support/scripted-model.ts';

/** An agent whose before-tool callback changes the amount of a payment. */
function changing(needsApproval: boolean | ((args: { amount: number }) => boolean)) {
  const paid: number[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    needsApproval,
    execute: ({ amount }) => {
      paid.push(amount);
      return { amount };
    },
  });
  const model = new ScriptedModel([[call('pay', { amount: 10 }, 'call-1')], [text('Paid.')]]);
  const agent = new LlmAgent({
    name: 'assistant',
    model,
    tools: [pay],
    beforeToolCallback: ({ args }) => {
      args.amount = 1000;
      return undefined;
    },
  });
  return { agent, paid };
}

const ASKS = {
  always: true,
  'from 100 on': ({ amount }: { amount: number }) => amount >= 100,
};

describe.each(Object.entries(ASKS))(
  'a before-tool callback that changes the arguments of a tool that asks %s',
  (_, asks) => {
    it('[T28] [T28a] over SSE: the person approves what runs', async () => {
      const { agent, paid } = changing(asks);
      const { post } = harness([], [], { agent });
      const { chunks } = await post(say('pay'));
      const shown = chunks.findLast((chunk) => chunk.type === 'tool-input-available');
      const request = chunks.find((chunk) => chunk.type === 'tool-approval-request');
      expect(shown).toMatchObject({ input: { amount: 1000 }, toolMetadata: { asks: true } });
      expect(paid).toEqual([]);
      const part = {
        type: 'tool-pay',
        toolCallId: 'call-1',
        input: shown?.input,
        state: 'approval-responded',
        approval: { id: request?.approvalId, approved: true },
      };
      const second = await post({ id: 'chat-1', messages: [{ id: 'a', role: 'assistant', parts: [part] }] });
      expect(second.chunks).toContainEqual(expect.objectContaining({ output: { amount: 1000 } }));
      expect(paid).toEqual([1000]);
      const grammar = new Grammar('sse');
      expect([...chunks, ...second.chunks].flatMap((chunk) => grammar.push(chunk))).toEqual([]);
    });

    it.each(['live', 'turn'] as const)(
      '[T28] [T28a] over a socket, driver %s: the person approves what runs',
      async (driver) => {
        const { agent, paid } = changing(asks);
        const { connect } = await live([], [], { agent, driver, approvalTimeoutMs: null });
        const socket = await connect();
        socket.say('pay');
        const request = await socket.chunk('tool-approval-request');
        const shown = socket.chunks.findLast((chunk) => chunk.type === 'tool-input-available');
        expect(shown).toMatchObject({ input: { amount: 1000 }, toolMetadata: { asks: true } });
        expect(paid).toEqual([]);
        socket.send('message', decision(request));
        await socket.done();
        expect(paid).toEqual([1000]);
        const grammar = new Grammar('bidi');
        expect(
          socket.chunks
            .filter(({ type }) => !type.startsWith('data-'))
            .flatMap((chunk) => grammar.push(chunk)),
        ).toEqual([]);
      },
    );
  },
);

describe('a before-tool callback beside calls that wait, over SSE', () => {
  it('[T28] a browser tool gets the arguments that the callback left, and its output counts', async () => {
    const locate = defineTool({
      name: 'locate',
      description: 'Locates.',
      parameters: z.object({ exact: z.boolean() }),
      runsOn: 'client',
    });
    const agent = new LlmAgent({
      name: 'assistant',
      model: new ScriptedModel([[call('locate', { exact: true }, 'call-1')], [text('There.')]]),
      tools: [locate],
      beforeToolCallback: ({ args }) => {
        args.exact = false;
        return undefined;
      },
    });
    const { post } = harness([], [], { agent });
    const { chunks } = await post(say('where'));
    const inputs = chunks.filter((chunk) => chunk.type === 'tool-input-available');
    expect(inputs).toMatchObject([{ input: { exact: false } }]);
    const part = {
      type: 'tool-locate',
      toolCallId: 'call-1',
      state: 'output-available',
      input: { exact: false },
      output: 'here',
    };
    const second = await post({ id: 'chat-1', messages: [{ id: 'a', role: 'assistant', parts: [part] }] });
    expect(second.chunks).toContainEqual(
      expect.objectContaining({ type: 'tool-output-available', output: 'here' }),
    );
  });

  it('[T25] calls that run at once and calls that ask are shown in their order, each once', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({ amount: z.number() }),
      needsApproval: ({ amount }) => amount > 100,
      execute: ({ amount }) => ({ amount }),
    });
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => ({ seen: true }) });
    const agent = new LlmAgent({
      name: 'assistant',
      model: new ScriptedModel([
        [
          calls(
            { id: 'small', name: 'pay', args: { amount: 1 } },
            { id: 'look', name: 'look' },
            { id: 'large', name: 'pay', args: { amount: 500 } },
          ),
        ],
      ]),
      tools: [pay, look],
      beforeToolCallback: () => undefined,
    });
    const { chunks } = await harness([], [], { agent }).post(say('pay'));
    const reported = chunks.flatMap((chunk) =>
      'toolCallId' in chunk ? [`${chunk.type} ${chunk.toolCallId}`] : [],
    );
    const grammar = new Grammar('sse');
    expect(chunks.flatMap((chunk) => grammar.push(chunk))).toEqual([]);
    expect(reported.filter((line) => !line.startsWith('tool-input-start')).sort()).toEqual([
      'tool-approval-request large',
      'tool-input-available large',
      'tool-input-available look',
      'tool-input-available small',
      'tool-output-available look',
      'tool-output-available small',
    ]);
  });
});

it.each(['live', 'turn'] as const)(
  '[T28] a call whose arguments could not be read does not run, whatever a callback puts there: driver %s',
  async (driver) => {
    const { agent, paid } = changing(false);
    const broken = call('pay', {}, 'call-1');
    for (const part of broken.content?.parts ?? []) markUnreadable(part);
    agent.model = new ScriptedModel([[broken], [text('Not paid.')]]);
    const socket = await (await live([], [], { agent, driver })).connect();
    socket.say('pay');
    await socket.done();
    expect(paid).toEqual([]);
    expect(socket.chunks.some(({ type }) => type === 'tool-output-error')).toBe(true);
  },
);
