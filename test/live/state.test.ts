import type { Context } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { decision, live } from '../support/live.ts';
import { calls, text } from '../support/scripted-model.ts';

const balanceIn = (context: Context) => Number(context.state.get('wallet', 1000));

/** A payment that is refused before anyone is asked when it is too much, and that asks about more than half. */
const payment = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({ amount: z.number() }),
  needsApproval: ({ amount }, context) => amount > balanceIn(context) / 2,
  check: ({ amount }, context) => {
    if (amount > balanceIn(context)) throw new Error(`Too much. Balance: ${balanceIn(context)}`);
  },
  execute: ({ amount }, context) => {
    const wallet = balanceIn(context) - amount;
    context.state.set('wallet', wallet);
    return { wallet };
  },
});

const pay = (id: string, amount: number) => [calls({ id, name: 'pay', args: { amount } })];

describe('what a tool is asked before it runs', () => {
  it('[T3] knows what the tools before it changed: what can no longer work is refused, and nobody is asked', async () => {
    const server = await live(
      [pay('call-a', 900), [text('Paid.')], pay('call-b', 900), [text('Sorry.')]],
      [payment],
    );
    const socket = await server.connect('?session=state');
    socket.say('Alice');
    socket.send('message', decision(await socket.chunk('tool-approval-request')));
    await socket.done();
    socket.say('Bob');
    await socket.done(2);
    expect(socket.chunks.filter(({ type }) => type === 'tool-approval-request')).toHaveLength(1);
    expect(socket.chunks.findLast(({ type }) => type.startsWith('tool-output'))).toEqual({
      type: 'tool-output-error',
      toolCallId: 'call-b',
      errorText: 'Too much. Balance: 100',
    });
  });

  it('[T3] decides by the state of now whether to ask', async () => {
    const server = await live(
      [pay('call-a', 400), [text('Paid.')], pay('call-b', 400), [text('Paid too.')]],
      [payment],
    );
    const socket = await server.connect('?session=state');
    socket.say('first');
    await socket.done();
    socket.say('second');
    const card = await socket.chunk('tool-approval-request');
    expect(card.toolCallId).toBe('call-b');
    socket.send('message', decision(card));
    await socket.done(2);
    expect(socket.chunks.findLast(({ type }) => type === 'tool-output-available')).toEqual({
      type: 'tool-output-available',
      toolCallId: 'call-b',
      output: { wallet: 200 },
    });
  });
});
