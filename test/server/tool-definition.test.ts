import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { pendingApprovals } from '../../src/react/index.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, calls, text } from '../support/scripted-model.ts';

const PAY = { id: 'call-pay', name: 'pay', args: { amount: 30 } };
const AGAIN = { id: 'call-again', name: 'pay', args: { amount: 40 } };

/** A tool that asks, and says what about. */
function pay(approvalMessage: (args: { amount: number }) => string) {
  return defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    approvalMessage,
    execute: ({ amount }) => ({ paid: amount }),
  });
}

const question = ({ amount }: { amount: number }) => `Pay ${amount} EUR?`;

const messagesIn = (chunks: readonly Chunk[]) =>
  chunks.flatMap((chunk) =>
    chunk.type === 'tool-approval-request'
      ? [(chunk.approvalDescriptor as { message?: string } | undefined)?.message]
      : [],
  );

describe('the approval message in the definition of a tool', () => {
  it('[T32] is in the request over SSE, in the stored message and in the approvals of the hook', async () => {
    const made = harness([[calls(PAY, AGAIN)]], [pay(question)]);
    const { chunks } = await made.post(say('go'));
    expect(messagesIn(chunks)).toEqual(['Pay 30 EUR?', 'Pay 40 EUR?']);
    const { messages } = await (await made.get('/sessions/chat-1')).json();
    expect(pendingApprovals(messages).map(({ message }) => message)).toEqual(['Pay 30 EUR?', 'Pay 40 EUR?']);
  });

  it('[T32b] is the reason of the request too, which ai 7 keeps as requestReason, also in the stored message', async () => {
    const made = harness([[calls(PAY)]], [pay(question)]);
    const { chunks } = await made.post(say('go'));
    const reason = 'Pay 30 EUR?';
    expect(chunks.filter(({ type }) => type === 'tool-approval-request')).toMatchObject([{ reason }]);
    const { messages } = await (await made.get('/sessions/chat-1')).json();
    const shown = { approval: { requestReason: reason, descriptor: { message: reason } } };
    expect(messages.at(-1).parts).toMatchObject([shown]);
  });

  it('[T32] is cut at 2,000 characters', async () => {
    const { chunks } = await harness([[calls(PAY)]], [pay(() => 'x'.repeat(3000))]).post(say('go'));
    expect(messagesIn(chunks)).toEqual(['x'.repeat(2000)]);
  });

  it.each([
    ['rejects', () => Promise.reject(new Error('no')) as never],
    [
      'throws at once',
      () => {
        throw new Error('no');
      },
    ],
    ['returns no text', () => 3 as never],
    ['returns an empty text', () => ''],
  ])('[T32a] is left out when the function %s, and the user is asked all the same', async (_what, bad) => {
    const { chunks } = await harness([[calls(PAY)]], [pay(bad)]).post(say('go'));
    expect(messagesIn(chunks)).toEqual([undefined]);
  });

  it.each(['live', 'turn'] as const)(
    '[T32] is in the request over BIDI, also after a restart (driver %s)',
    async (driver) => {
      const store = Object.assign(createMemoryStore(), { close: async () => undefined });
      const before = await live([[calls(PAY, AGAIN)]], [pay(question)], { driver, store });
      const first = await before.connect('?session=restart');
      first.say('go');
      const shown = await first.chunk('tool-approval-request');
      expect(messagesIn([shown])).toEqual(['Pay 30 EUR?']);
      await before.served.close();

      const after = await live([[text('Done.')]], [pay(question)], { driver, store });
      const second = await after.connect('?session=restart');
      second.send('message', decision(shown));
      expect(messagesIn([await second.chunk('tool-approval-request')])).toEqual(['Pay 40 EUR?']);
    },
  );
});

describe('the time limit in the definition of a tool', () => {
  it.each([-1, Number.NaN, '5 s'])('must be a time: %s is refused', (timeoutMs) => {
    const bad = { name: 'work', description: 'Works.', timeoutMs, execute: () => ({}) };
    expect(() => defineTool(bad as never)).toThrow(
      'The "timeoutMs" of the tool "work" must be a number of milliseconds that is not negative, or null for no limit.',
    );
  });

  /** Runs a tool that works for so long, in a server whose tools may take ten seconds. */
  async function outcome(timeoutMs: number | null | undefined, ms: number): Promise<string[]> {
    const clock = new ManualClock();
    const work = defineTool({
      name: 'work',
      description: 'Works.',
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      execute: () => {
        clock.advance(ms);
        return { done: true };
      },
    });
    const made = harness([[call('work', {})], [text('Done.')]], [work], { clock, toolTimeoutMs: 10_000 });
    const { chunks } = await made.post(say('go'));
    return chunks.flatMap(({ type }) => (type.startsWith('tool-output-') ? [type] : []));
  }

  it('[T24b] replaces that of the server, shorter, longer or without limit', async () => {
    expect(await outcome(undefined, 10_000)).toEqual(['tool-output-error']);
    expect(await outcome(undefined, 9_999)).toEqual(['tool-output-available']);
    expect(await outcome(5_000, 5_000)).toEqual(['tool-output-error']);
    expect(await outcome(20_000, 10_000)).toEqual(['tool-output-available']);
    expect(await outcome(null, 1_000_000)).toEqual(['tool-output-available']);
  });
});
