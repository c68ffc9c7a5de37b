import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ApprovalRule, defineTool } from '../../src/adk/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { call, text } from '../support/scripted-model.ts';

const PAY = { id: 'call-pay', name: 'pay', args: { amount: 30 } };

function pay(needsApproval: ApprovalRule | ((args: { amount: number }) => unknown), log: string[] = []) {
  return defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    needsApproval: needsApproval as ApprovalRule,
    execute: ({ amount }) => {
      log.push(`paid ${amount}`);
      return { paid: amount };
    },
  });
}

/** What the page gets for the call: a request with its reason, an output, or an error. */
const endOf = (chunks: readonly Chunk[]): unknown[] => {
  for (const chunk of chunks) {
    if (chunk.type === 'tool-approval-request') return ['asked', chunk.reason];
    if (chunk.type === 'tool-output-available') return ['ran', chunk.output];
    if (chunk.type === 'tool-output-error') return ['failed', chunk.errorText];
  }
  return [];
};

const rows: [string, ApprovalRule, unknown[]][] = [
  ['user-approval', 'user-approval', ['asked', undefined]],
  [
    'user-approval with a reason',
    { type: 'user-approval', reason: 'More than 20 EUR.' },
    ['asked', 'More than 20 EUR.'],
  ],
  ['not-applicable', 'not-applicable', ['ran', { paid: 30 }]],
  ['approved', 'approved', ['ran', { paid: 30 }]],
  ['approved with a reason', { type: 'approved', reason: 'A small amount.' }, ['ran', { paid: 30 }]],
  ['denied', 'denied', ['failed', 'pay was denied by its approval rule.']],
  [
    'denied with a reason',
    { type: 'denied', reason: 'Only admins can pay.' },
    ['failed', 'Only admins can pay.'],
  ],
  ['undefined', undefined, ['ran', { paid: 30 }]],
];

describe('a tool whose needsApproval uses the words of toolApproval of ai 7', () => {
  describe.each([
    ['as a value', (rule: ApprovalRule) => rule],
    ['from a function', (rule: ApprovalRule) => () => rule],
    ['from an async function', (rule: ApprovalRule) => async () => rule],
  ])('%s', (_how, given) => {
    it.each(rows)('[T3] over SSE %s does what ai 7 does', async (_word, rule, end) => {
      const log: string[] = [];
      const { post } = harness([[call('pay', PAY.args)], [text('Done.')]], [pay(given(rule), log)]);
      expect(endOf((await post(say('go'))).chunks)).toEqual(end);
      expect(log).toEqual(end[0] === 'ran' ? ['paid 30'] : []);
    });
  });

  it.each([
    ['denied', 'failed'],
    ['user-approval', 'asked'],
    ['approved', 'ran'],
  ] as const)('[T3] over BIDI %s is %s, too', async (word, how) => {
    const { connect } = await live([[call('pay', PAY.args)], [text('Done.')]], [pay(() => word)]);
    const socket = await connect();
    socket.say('go');
    await socket.until(() => endOf(socket.chunks).length > 0);
    expect(endOf(socket.chunks)[0]).toBe(how);
  });

  it('[T3b] asks when a function returns a word that it does not know', async () => {
    const { post } = harness([[call('pay', PAY.args)]], [pay(() => 'denyed')]);
    expect(endOf((await post(say('go'))).chunks)).toEqual(['asked', undefined]);
  });

  it('prefers the reason to approvalMessage', async () => {
    const tool = defineTool({
      name: 'pay',
      description: 'Pays.',
      needsApproval: { type: 'user-approval', reason: 'Over the limit.' },
      approvalMessage: () => 'Pay?',
      execute: () => 'paid',
    });
    expect(endOf((await harness([[call('pay', {})]], [tool]).post(say('go'))).chunks)).toEqual([
      'asked',
      'Over the limit.',
    ]);
  });

  it('stays denied when the server asks for no tool', async () => {
    const log: string[] = [];
    const options = { toolsRequiringApproval: [] };
    const { post } = harness([[call('pay', PAY.args)], [text('Done.')]], [pay(() => 'denied', log)], options);
    expect(endOf((await post(say('go'))).chunks)).toEqual(['failed', 'pay was denied by its approval rule.']);
    expect(log).toEqual([]);
  });

  it.each(['maybe', 3, {}, { type: 'perhaps' }, null])('refuses the value %j at once', (rule) => {
    expect(() => pay(rule as never)).toThrow(/"needsApproval" of the tool "pay" must be/);
  });
});
