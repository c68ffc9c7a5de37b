import { expect, it } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { cardsIn, demo } from './support/demo.ts';

it('[T10a] [S15] the audit log has a line for issued, approved, consumed, denied, refused and expired', async () => {
  const clock = new ManualClock();
  const start = clock.now();
  const { say, decide, audit } = demo({ clock, approvalTimeoutMs: 30_000 });

  const approved = cardsIn(await say('Send $50 to Hanako'));
  clock.advance(1000);
  await decide(approved, [true]);

  clock.advance(1000);
  const denied = cardsIn(await say('Bobに40ドル送金してください'));
  clock.advance(1000);
  await decide(denied, [false]);

  clock.advance(1000);
  const forgotten = cardsIn(await say('Where am I?'));
  clock.advance(1000);
  const [card] = forgotten;
  const forged = await decide(card ? [{ ...card, approvalId: 'approval_made-up' }] : [], [true]);
  expect(forged).toMatchObject({ status: 409, json: { error: { code: 'answer_refused' } } });
  clock.advance(29_000);
  await decide(forgotten, [true]);

  const one = (
    kind: string,
    at: number,
    [card]: typeof approved,
    toolName: string,
    args: object,
    reason: unknown = null,
  ) => ({
    at: start + at,
    kind,
    sessionId: 'chat-1',
    user: 'live_user',
    approvalId: card?.approvalId,
    toolCallId: card?.toolCallId,
    toolName,
    argsHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    args,
    reason,
  });
  const hanako = { amount: 50, recipient: 'Hanako', currency: 'USD' };
  const bob = { amount: 40, recipient: 'Bob', currency: 'USD' };
  expect(await audit()).toEqual([
    one('issued', 0, approved, 'process_payment', hanako),
    one('approved', 1000, approved, 'process_payment', hanako),
    one('consumed', 1000, approved, 'process_payment', hanako),
    one('issued', 2000, denied, 'process_payment', bob),
    one('denied', 3000, denied, 'process_payment', bob),
    one('issued', 4000, forgotten, 'get_location', {}),
    {
      ...one('refused', 5000, forgotten, 'get_location', {}, 'no such approval'),
      approvalId: 'approval_made-up',
      toolName: null,
      argsHash: null,
      args: null,
    },
    one('expired', 34_000, forgotten, 'get_location', {}, 'Approval request timed out'),
  ]);
});
