import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { MemoryDatabase } from '../support/memory-nodes.ts';
import { calls, text } from '../support/scripted-model.ts';
import { answers, approve } from './support/answers.ts';

const TIMED_OUT = 'Approval request timed out';
const PAY = { id: 'call-pay', name: 'pay', args: {} };
const SIGN = { id: 'call-sign', name: 'sign', args: {} };
const BOTH = [calls(PAY, SIGN)];

/** Two tools that ask: `pay` waits as long as the server says, `sign` as long as its definition says. */
function tools(approvalTimeoutMs: number | null, log: string[] = []) {
  const tool = (name: string) => ({
    name,
    description: name,
    parameters: z.object({}),
    needsApproval: true,
    execute: () => {
      log.push(name);
      return { done: name };
    },
  });
  return [defineTool(tool('pay')), defineTool({ ...tool('sign'), approvalTimeoutMs })];
}

/** When an approval request expires, counted from now. */
function lifeOf(request: Chunk, clock: ManualClock): number | null {
  const { approvalDescriptor } = request as { approvalDescriptor?: { expiresAt?: number } };
  const expiresAt = approvalDescriptor?.expiresAt;
  return expiresAt === undefined ? null : expiresAt - clock.now();
}

const requestsIn = (chunks: readonly Chunk[]) =>
  chunks.filter(({ type }) => type === 'tool-approval-request');

describe('the approval timeout in the definition of a tool', () => {
  it.each([-1, Number.NaN, '30 s', {}])('must be a time: %s is refused', (approvalTimeoutMs) => {
    const sign = { name: 'sign', description: 'Signs.', approvalTimeoutMs, execute: () => ({}) };
    expect(() => defineTool(sign as never)).toThrow(
      'The "approvalTimeoutMs" of the tool "sign" must be a number of milliseconds that is not negative, or null for no limit.',
    );
  });

  it.each([
    ['limits', 90_000, null],
    ['removes the limit of', null, 30_000],
  ])('[T16] %s the requests of that tool over SSE, and of no other', async (_word, own, server) => {
    const clock = new ManualClock();
    const log: string[] = [];
    const options = { clock, approvalTimeoutMs: server };
    const made = harness([BOTH, [text('Done.')]], tools(own, log), options);
    const first = await made.post(say('go'));
    expect(requestsIn(first.chunks).map((request) => lifeOf(request, clock))).toEqual([server, own]);
    clock.advance(90_000);
    const late = await answers(made, first, approve(0), approve(1));
    const failed = late.chunks.flatMap((chunk) => (chunk.type === 'tool-output-error' ? [chunk] : []));
    const inTime = own === null ? SIGN : PAY;
    expect(log).toEqual([inTime.name]);
    expect(failed).toMatchObject([{ errorText: TIMED_OUT }]);
  });

  describe.each(['live', 'turn'] as const)('over BIDI, driver %s', (driver) => {
    it('[T16] counts from when a queued request is shown, and ends only the call of that tool', async () => {
      const clock = new ManualClock();
      const log: string[] = [];
      const { connect } = await live([BOTH, [text('Done.')]], tools(10_000, log), { clock, driver });
      const socket = await connect();
      socket.say('go');
      const pay = await socket.chunk('tool-approval-request');
      expect(lifeOf(pay, clock)).toBe(30_000);
      clock.advance(20_000);
      socket.send('message', decision(pay));
      const sign = await socket.chunk('tool-approval-request', 2);
      expect(lifeOf(sign, clock)).toBe(10_000);
      clock.advance(9_999);
      await socket.chunk('tool-output-available');
      expect(socket.chunks.some(({ type }) => type === 'tool-output-error')).toBe(false);
      clock.advance(1);
      expect(await socket.chunk('tool-output-error')).toMatchObject({
        toolCallId: SIGN.id,
        errorText: TIMED_OUT,
      });
      await socket.until(() => {
        clock.advance(20);
        return socket.dones === 1;
      });
      expect(log).toEqual(['pay']);
    });

    it('[T15a] [T16] is that of a queued call too when it is shown after a restart', async () => {
      const clock = new ManualClock();
      const store = Object.assign(createMemoryStore(), { close: async () => undefined });
      const options = { clock, driver, store, approvalTimeoutMs: 30_000 };
      const before = await live([BOTH], tools(90_000), options);
      const first = await before.connect('?session=restart');
      first.say('go');
      const pay = await first.chunk('tool-approval-request');
      await before.served.close();

      clock.advance(5_000);
      const after = await live([[text('Done.')]], tools(90_000), options);
      const second = await after.connect('?session=restart');
      second.send('message', decision(pay));
      const sign = await second.chunk('tool-approval-request');
      expect([sign.toolCallId, lifeOf(sign, clock)]).toEqual([SIGN.id, 90_000]);
    });

    it('[T15a] [T16] is that of a queued call too when another node shows it', async () => {
      const clock = new ManualClock();
      const database = new MemoryDatabase(clock);
      const start = (script: Parameters<typeof live>[0], port: number) => {
        const node = { address: `http://127.0.0.1:${port}`, leaseMs: 5000 };
        return live(script, tools(null), { clock, driver, store: database.open(), node });
      };
      const one = await start([BOTH], 1);
      const first = await one.connect('?session=moves');
      first.say('go');
      const pay = await first.chunk('tool-approval-request');
      await one.served.close();

      const other = await start([[text('Done.')]], 2);
      const second = await other.connect('?session=moves');
      second.send('message', decision(pay));
      const sign = await second.chunk('tool-approval-request');
      expect([sign.toolCallId, lifeOf(sign, clock)]).toEqual([SIGN.id, null]);
    });
  });

  it('[T15a] [T16] over SSE is that of a shown call after a restart, and expires it there', async () => {
    const clock = new ManualClock();
    const log: string[] = [];
    const store = Object.assign(createMemoryStore(), { close: async () => undefined });
    const before = harness([[calls(SIGN)]], tools(90_000), { clock, store });
    const first = await before.post(say('go'));
    await before.duologue.close();
    clock.advance(90_000);
    const after = harness([[text('Too late.')]], tools(null, log), { clock, store });
    await answers(after, first, approve());
    expect(log).toEqual([]);
    const { messages } = await (await after.get('/sessions/chat-1')).json();
    expect(messages[1].parts[0]).toMatchObject({ state: 'output-error', errorText: TIMED_OUT });
  });
});
