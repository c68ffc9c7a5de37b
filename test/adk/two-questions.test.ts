import { FunctionNode, LlmAgent, type NodeContext, RequestInput, Workflow } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import { latch } from '../server/support/listen.ts';
import { ManualClock } from '../support/clock.ts';
import { live } from '../support/live.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import { textOf } from './support/talk.ts';

/** A workflow that asks for a size and orders it, for each person. `ran` has the orders. */
function shop(ran: unknown[]): Workflow {
  const ask = (context: NodeContext, input: unknown) => {
    context.state.set(`asked ${String(input)}`, true);
    return new RequestInput({ message: `Which size, ${String(input)}?` });
  };
  const order = (_: NodeContext, input: unknown) => {
    ran.push(input);
    return `Ordered ${String(input)}.`;
  };
  return new Workflow({ name: 'flow', edges: [['START', ask, order]] });
}

const ORDERS = [
  ['the first one first', [0, 1]],
  ['the second one first', [1, 0]],
] as const;

describe.each(ORDERS)('two questions of different invocations of a workflow, %s', (_order, order) => {
  it.each([true, false])(
    '[T35] each continue their own invocation, answered at once: %s',
    async (isAtOnce) => {
      const ran: unknown[] = [];
      const socket = await (await live([], [], { agent: shop(ran) })).connect('?session=chat-1');
      socket.say('Ann');
      const first = await socket.chunk('tool-input-available');
      socket.say('Bob');
      const second = await socket.chunk('tool-input-available', 2);
      const answers = [
        { toolCallId: first.toolCallId, result: 'small' },
        { toolCallId: second.toolCallId, result: 'medium' },
      ] as const;
      for (const n of order) {
        socket.send('tool_result', answers[n]);
        if (isAtOnce) continue;
        await socket.until(
          () => textOf(socket.chunks).includes(`Ordered ${answers[n].result}.`),
          'the order',
        );
      }
      await socket.until(() => ran.length === 2, 'both orders');
      await socket.until(
        () => ['small', 'medium'].every((size) => textOf(socket.chunks).includes(`Ordered ${size}.`)),
        'both texts',
      );
      expect(ran).toEqual(order.map((n) => answers[n].result));
      socket.say('Cid');
      await socket.chunk('tool-input-available', 3);
      expect(ran).toHaveLength(2);
    },
  );

  it.each([true, false])(
    '[T17] two approvals of agents that are nodes continue their own invocation, decided at once: %s',
    async (isAtOnce) => {
      const ran: string[] = [];
      const pay = defineTool({
        name: 'pay',
        description: 'Pays.',
        needsApproval: true,
        execute: (_args, context) => {
          ran.push(`pay ${context?.functionCallId}`);
          return {};
        },
      });
      const model = new ScriptedModel([
        [call('pay', {}, 'pay-0')],
        [call('pay', {}, 'pay-1')],
        [text('Paid.')],
        [text('Paid.')],
      ]);
      const banker = new LlmAgent({ name: 'banker', model, tools: [pay] });
      const last = new FunctionNode('last', (context: NodeContext) => {
        ran.push('last');
        return `Receipt ${context.invocationId}.`;
      });
      const agent = new Workflow({
        name: 'flow',
        edges: [
          ['START', banker],
          [banker, last],
        ],
      });
      const socket = await (
        await live([], [], { agent, approvalTimeoutMs: null, approvals: 'parallel' })
      ).connect('?session=chat-1');
      socket.say('Ann');
      await socket.chunk('tool-approval-request');
      socket.say('Bob');
      await socket.chunk('tool-approval-request', 2);
      for (const [index, n] of order.entries()) {
        socket.send('tool_result', { toolCallId: `pay-${n}`, status: 'approved' });
        if (isAtOnce) continue;
        await socket.until(() => ran.filter((one) => one === 'last').length === index + 1, 'the receipt');
      }
      await socket.until(() => ran.length === 4, 'both receipts');
      const receipts = () => textOf(socket.chunks).match(/Receipt [^.]+\./g) ?? [];
      await socket.until(() => receipts().length === 2, 'both texts');
      expect(ran.filter((one) => one !== 'last')).toEqual(order.map((n) => `pay pay-${n}`));
      expect(new Set(receipts()).size).toBe(2);
    },
  );
});

describe.each(ORDERS)(
  'two questions of different invocations that are answered with POST, %s',
  (_order, order) => {
    /** Two questions that a workflow asked over a socket, and the page of the user after it has changed to SSE. */
    async function asked(ran: unknown[]) {
      const server = await live([], [], { agent: shop(ran) });
      const socket = await server.connect('?session=chat-1');
      const parts: object[] = [];
      for (const [index, name] of ['Ann', 'Bob'].entries()) {
        socket.say(name);
        const { toolCallId, input } = await socket.chunk('tool-input-available', index + 1);
        const output = ['small', 'medium'][index];
        parts.push({ type: 'tool-adk_request_input', toolCallId, state: 'output-available', input, output });
      }
      socket.close();
      const ids = socket.chunks.flatMap((chunk) => (chunk.type === 'start' ? [chunk.messageId] : []));
      const answer = async (message: number, given: (object | undefined)[]) => {
        const messages = [{ id: ids[message], role: 'assistant', parts: given }];
        const { status, chunks } = await server.post({ id: 'chat-1', messages });
        expect(status).toBe(200);
        return textOf(chunks);
      };
      return { parts, answer };
    }

    it('[T35] each continue in the response to their own answer', async () => {
      const ran: unknown[] = [];
      const { parts, answer } = await asked(ran);
      for (const n of order) expect(await answer(n, [parts[n]])).toBe(`Ordered ${['small', 'medium'][n]}.`);
      expect(ran).toEqual(order.map((n) => ['small', 'medium'][n]));
    });
  },
);

describe.each(ORDERS)(
  'two questions of a workflow that are answered while it continues a third one, %s',
  (_order, order) => {
    it('[T35] each continue their own invocation', async () => {
      const ran: unknown[] = [];
      let isReleased = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        isReleased = resolve;
      });
      const ask = (_: NodeContext, input: unknown) =>
        new RequestInput({ message: `Which size, ${String(input)}?` });
      const make = async (_: NodeContext, input: unknown) => {
        ran.push(input);
        if (input === 'large') await released;
        return `Ordered ${String(input)}.`;
      };
      const agent = new Workflow({ name: 'flow', edges: [['START', ask, make]] });
      const socket = await (await live([], [], { agent })).connect('?session=chat-1');
      const sizes = ['large', 'small', 'medium'];
      const ids: string[] = [];
      for (const n of sizes.keys()) {
        socket.say(`person ${n}`);
        ids.push((await socket.chunk('tool-input-available', n + 1)).toolCallId);
      }
      socket.send('tool_result', { toolCallId: ids[0], result: sizes[0] });
      await socket.until(() => ran.length === 1, 'the first order');
      for (const n of order) socket.send('tool_result', { toolCallId: ids[n + 1], result: sizes[n + 1] });
      await socket.chunk('tool-output-available', 3);
      isReleased();
      await socket.until(
        () => sizes.every((size) => textOf(socket.chunks).includes(`Ordered ${size}.`)),
        'all texts',
      );
      expect(ran).toEqual(['large', ...order.map((n) => sizes[n + 1])]);
    });
  },
);

describe.each(ORDERS)(
  'two approvals of different invocations that have timed out, %s',
  (_order, [answered]) => {
    it('[T16] a response to one of them continues the invocation of its message', async () => {
      const invocations: string[] = [];
      const note = (name: string) =>
        new FunctionNode(name, (context: NodeContext, input: unknown) => {
          invocations.push(context.invocationId);
          return input;
        });
      const pay = defineTool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => ({}) });
      const model = new ScriptedModel([[call('pay')], [call('pay')], [text('Too late.')]]);
      const banker = new LlmAgent({ name: 'banker', model, tools: [pay] });
      const agent = new Workflow({ name: 'flow', edges: [['START', note('first'), banker, note('last')]] });
      const clock = new ManualClock();
      const { open: hasLeft, opened: left } = latch();
      const logger = {
        info: (line: string) => line === 'disconnected' && hasLeft(),
        warn: () => undefined,
        error: () => undefined,
      };
      const options = { agent, clock, logger, approvals: 'parallel', approvalTimeoutMs: 30_000 } as const;
      const server = await live([], [], options);
      const socket = await server.connect('?session=chat-1');
      const requests: { approvalId: string; toolCallId: string }[] = [];
      for (const [index, name] of ['Ann', 'Bob'].entries()) {
        socket.say(name);
        requests.push(await socket.chunk('tool-approval-request', index + 1));
      }
      socket.close();
      await left;
      const ids = socket.chunks.flatMap((chunk) => (chunk.type === 'start' ? [chunk.messageId] : []));
      clock.advance(31_000);
      const { approvalId, toolCallId } = requests[answered] ?? {};
      const approval = { id: approvalId, approved: true };
      const parts = [{ type: 'tool-pay', toolCallId, state: 'approval-responded', input: {}, approval }];
      const { chunks } = await server.post({
        id: 'chat-1',
        messages: [{ id: ids[answered], role: 'assistant', parts }],
      });
      const continued = chunks.flatMap((chunk) => (chunk.type === 'start' ? [chunk.messageId] : []));
      expect(textOf(chunks)).toContain('Too late.');
      expect(invocations).toHaveLength(3);
      expect(continued).toEqual([ids[invocations.indexOf(invocations[2] ?? '')]]);
    });
  },
);
