import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type DecidedCall, defineTool } from '../../src/adk/index.ts';
import type { GrammarMode } from '../../src/protocol/index.ts';
import { createMemoryStore, type DuologueOptions } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { answers, approve, deny } from './support/answers.ts';

const CALL = 'call-pay';
const SCRIPT: ScriptedTurn[] = [[call('pay', { amount: 5 }, CALL)], [text('Done.')]];
const asAnn: Partial<DuologueOptions> = { authenticate: () => ({ user: 'ann', token: 'secret' }) };

type Reported = [name: string, args: unknown, decided: DecidedCall];

/** A tool that asks, and notes the decisions that it hears of. */
function paying(reported: Reported[], extra: object = {}) {
  return defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    onApproved: (args, decided) => reported.push(['approved', args, decided]),
    onDenied: (args, decided) => reported.push(['denied', args, decided]),
    execute: () => 'paid',
    ...extra,
  });
}

const heard = (name: string, reason: string | null, decidedBy: object = { user: 'ann' }) => [
  name,
  { amount: 5 },
  { callId: CALL, sessionId: 'chat-1', user: 'ann', decidedBy, reason },
];

describe.each([
  ['over SSE', 'sse', {}],
  ['over BIDI, driven live', 'bidi', { driver: 'live' }],
  ['over BIDI, driven turn by turn', 'bidi', { driver: 'turn' }],
] as [string, GrammarMode, Partial<DuologueOptions>][])(
  'onApproved and onDenied %s',
  (_name, mode, options) => {
    /** Plays a conversation in which the user decides, twice with the same decision. Returns the outcome of the call. */
    async function play(
      tool: ReturnType<typeof paying>,
      approved: boolean,
      more: Partial<DuologueOptions> = {},
    ): Promise<unknown> {
      const all = { ...asAnn, ...options, ...more };
      const isOutcome = ({ type }: { type: string }) =>
        type === 'tool-output-available' || type === 'tool-output-error';
      if (mode === 'sse') {
        const made = harness(SCRIPT, [tool], all);
        const asked = await made.post(say('go'));
        const reply = approved ? approve(0, 'because') : deny(0, 'because');
        const { chunks } = await answers(made, asked, reply);
        await answers(made, asked, reply);
        return chunks.find(isOutcome);
      }
      const { connect } = await live(SCRIPT, [tool], all);
      const socket = await connect('?session=chat-1');
      socket.say('go');
      const { toolCallId } = await socket.chunk('tool-approval-request');
      const status = approved ? 'approved' : 'rejected';
      for (const requestId of ['one', 'two'])
        socket.send('tool_result', { toolCallId, status, reason: 'because', requestId });
      await socket.done();
      return socket.chunks.find(isOutcome);
    }

    it.each([
      [true, 'approved'],
      [false, 'denied'],
    ])(
      'are called once with the decision (approved: %s), its reason and who made it',
      async (approved, name) => {
        const reported: Reported[] = [];
        await play(paying(reported), approved);
        await expect.poll(() => reported).toEqual([heard(name, 'because')]);
      },
    );

    it('may throw or never end: the decision stands, and the failure is logged', async () => {
      const errors: string[] = [];
      const logger = { info() {}, warn() {}, error: (message: string) => void errors.push(message) };
      const failing = paying([], {
        onApproved: () => {
          throw new Error('The pager is broken.');
        },
      });
      const output = { type: 'tool-output-available', toolCallId: CALL, output: 'paid' };
      expect(await play(failing, true, { logger })).toEqual(output);
      await expect
        .poll(() => errors)
        .toEqual(['onApproved of the tool "pay" failed: the decision stands; check that function']);
      const endless = paying([], { onApproved: () => new Promise(() => undefined) });
      expect(await play(endless, true)).toEqual(output);
    });
  },
);

describe('onApproved and onDenied', () => {
  it('are called for a decision of the application, with the person that it names', async () => {
    const reported: Reported[] = [];
    const { duologue, post } = harness(SCRIPT, [paying(reported)], asAnn);
    const { chunks } = await post(say('go'));
    const request = chunks.find(({ type }) => type === 'tool-approval-request') as { approvalId: string };
    await duologue.decide({ approvalId: request.approvalId, approved: false, by: 'bea' });
    await expect
      .poll(() => reported)
      .toEqual([heard('denied', null, { person: 'bea', application: 'duologue' })]);
  });

  it('are called after a restart for a decision that comes then, and not again for one that came before', async () => {
    const store = createMemoryStore();
    const asked = harness(SCRIPT, [paying([])], { ...asAnn, store });
    const first = await asked.post(say('go'));
    const reported: Reported[] = [];
    const next = harness([[text('Done.')]], [paying(reported)], { ...asAnn, store });
    await answers(next, first, approve());
    await expect.poll(() => reported).toEqual([heard('approved', null)]);
    const last = await live([], [paying(reported)], { ...asAnn, store });
    const socket = await last.connect('?session=chat-1');
    await socket.chunk('data-session' as never);
    socket.send('message', decision({ approvalId: 'unknown', toolCallId: CALL }));
    await socket.chunk('data-error' as never);
    expect(reported).toHaveLength(1);
  });

  it('are not called when the request expires or a new message supersedes it', async () => {
    const reported: Reported[] = [];
    const clock = new ManualClock();
    const script = [...SCRIPT.slice(0, 1), [text('Never mind.')]];
    const { post } = harness(script, [paying(reported)], { ...asAnn, clock });
    await post(say('go'));
    const { chunks } = await post(say('forget it'));
    expect(chunks.some(({ type }) => type === 'finish')).toBe(true);
    expect(reported).toEqual([]);
    const late: Reported[] = [];
    const timed = harness(SCRIPT, [paying(late)], { ...asAnn, clock, approvalTimeoutMs: 1000 });
    const asked = await timed.post(say('go'));
    clock.advance(2000);
    await answers(timed, asked, approve());
    expect(late).toEqual([]);
  });
});
