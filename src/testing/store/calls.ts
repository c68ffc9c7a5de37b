import type { Question } from '../../protocol/index.ts';
import { type CallRecord, type CallStatus, StoreError } from '../../server/store/store.ts';
import {
  answerEvent,
  auditLines,
  callOf,
  casesWith,
  everything,
  keyOf,
  lineOf,
  type Opened,
  type TestRunner,
  textEvent,
} from './setup.ts';

const key = keyOf('s1');

/** The tests of recorded calls. */
export function callsSuite({ test, expect, beforeEach }: TestRunner, { store, clock }: Opened): void {
  const each = casesWith(test);

  beforeEach(() => store().createSession(key, {}));

  test('issued calls are found and open, in order, with an audit line for each call that asks the user', async () => {
    const asks = callOf('c2', { expiresAt: 31_000, branch: 'root.child' });
    const asksNot = callOf('c1', { approvalId: null, question: null, runsOn: 'client', status: 'running' });
    await store().issueCalls(key, [asks, asksNot]);
    await store().issueCalls(key, [callOf('c0')]);
    expect(await store().openCalls(key)).toEqual([asks, asksNot, callOf('c0')]);
    expect(await store().findCall(key, { id: 'c1' })).toEqual(asksNot);
    expect(await store().findCall(key, { approvalId: 'approval_c2' })).toEqual(asks);
    expect(await store().findCall(key, { id: 'approval_c2' })).toBeNull();
    expect(await store().findCall(key, { approvalId: 'c2' })).toBeNull();
    const common = { at: 1_000, sessionId: 's1', user: 'ann' };
    expect(await auditLines(store(), key)).toEqual([
      { ...common, ...lineOf('issued', 'c2') },
      { ...common, ...lineOf('issued', 'c0') },
    ]);
  });

  test('a question to the user is recorded with an audit line, and is found without an approval id', async () => {
    const schema = { type: 'object', properties: { size: { type: 'integer' } } };
    const question: Question = { kind: 'answer', message: 'Which size?', schema, payload: ['S', null] };
    const asked = callOf('c1', { approvalId: null, runsOn: 'client', question });
    await store().issueCalls(key, [asked]);
    expect(await store().findCall(key, { id: 'c1' })).toEqual(asked);
    expect(await store().openCalls(key)).toEqual([asked]);
    const common = { at: 1_000, sessionId: 's1', user: 'ann' };
    expect(await auditLines(store(), key)).toEqual([
      { ...common, ...lineOf('issued', 'c1', { approvalId: null }) },
    ]);
  });

  test('a decision keeps what the user sent for the tool', async () => {
    await store().issueCalls(key, [callOf('c1'), callOf('c2')]);
    const answer = { floor: 3, note: null };
    const decided = await store().decideCall(
      key,
      { id: 'c1', to: 'approved', reason: null, answer },
      lineOf('approved', 'c1'),
    );
    expect(decided).toEqual(callOf('c1', { status: 'approved', answer }));
    expect(await store().findCall(key, { id: 'c1' })).toEqual(decided);
    expect(await store().findCall(key, { id: 'c2' })).toEqual(callOf('c2'));
  });

  test('a running call may ask for approval: it is found by the new approval id', async () => {
    const running = callOf('c1', { approvalId: null, question: null, status: 'running' });
    await store().issueCalls(key, [running]);
    const asks = { approvalId: 'approval_late', question: { kind: 'approve', message: 'Sure?' } } as const;
    const move = { id: 'c1', from: 'running', to: 'requested', asks } as const;
    const asked = { ...running, ...asks, status: 'requested' };
    expect(await store().moveCall(key, move, null)).toEqual(asked);
    expect(await store().findCall(key, { approvalId: 'approval_late' })).toEqual(asked);
    expect(await store().openCalls(key)).toEqual([asked]);
  });

  each<[CallRecord[]]>([
    ['a recorded id', [callOf('c2'), callOf('c1', { approvalId: 'approval_new' })]],
    ['a recorded approval id', [callOf('c2'), callOf('c3', { approvalId: 'approval_c1' })]],
    ['one id twice', [callOf('c2'), callOf('c2', { approvalId: 'approval_new' })]],
    ['one approval id twice', [callOf('c2'), callOf('c3', { approvalId: 'approval_c2' })]],
    ['arguments without JSON', [callOf('c2'), callOf('c3', { args: { big: 1n } })]],
  ])('issuing calls with %s throws and records none of them', async (_what, calls) => {
    await store().issueCalls(key, [callOf('c1')]);
    await store().moveCall(key, { id: 'c1', from: 'requested', to: 'denied' }, null);
    const before = await everything(store());
    await expect(store().issueCalls(key, calls)).rejects.toThrow(StoreError);
    expect(await everything(store())).toEqual(before);
  });

  test('the same call id may be issued in another session', async () => {
    await store().createSession(keyOf('s2'), {});
    await store().issueCalls(key, [callOf('c1')]);
    await store().issueCalls(keyOf('s2'), [callOf('c1', { args: { amount: 9 } })]);
    expect((await store().findCall(key, { id: 'c1' }))?.args).toEqual({ amount: 5, to: 'Bob' });
  });

  test('a call is found in all sessions of the app by its id, and by its approval', async () => {
    const bob = keyOf('s2', 'bob');
    await store().createSession(bob, {});
    await store().createSession(keyOf('s1', 'ann', 'bank'), {});
    await store().issueCalls(key, [callOf('c1')]);
    await store().issueCalls(bob, [callOf('c1', { approvalId: 'approval_bob' }), callOf('c2')]);
    await store().issueCalls(keyOf('s1', 'ann', 'bank'), [callOf('c2', { approvalId: null })]);
    const found = [{ key: { app: 'shop', user: 'bob', id: 's2' }, call: callOf('c2') }];
    expect(await store().findCalls('shop', { approvalId: 'approval_c2' })).toEqual(found);
    expect(await store().findCalls('shop', { id: 'c2' })).toEqual(found);
    const users = (await store().findCalls('shop', { id: 'c1' })).map((one) => one.key.user);
    expect(users.sort()).toEqual(['ann', 'bob']);
    expect(await store().findCalls('shop', { id: 'approval_c2' })).toEqual([]);
    await store().deleteSession(bob);
    expect(await store().findCalls('shop', { id: 'c2' })).toEqual([]);
  });

  test('one session may have many calls without approval', async () => {
    const calls = ['c1', 'c2', 'c3'].map((id) => callOf(id, { approvalId: null, status: 'running' }));
    await store().issueCalls(key, calls);
    expect(await store().openCalls(key)).toEqual(calls);
  });

  test('a call moves only from the expected status, and its audit line is written with the move', async () => {
    await store().issueCalls(key, [callOf('c1')]);
    clock.set(2_000);
    expect(
      await store().moveCall(key, { id: 'c1', from: 'approved', to: 'running' }, lineOf('consumed', 'c1')),
    ).toBeNull();
    expect(
      await store().moveCall(key, { id: 'c9', from: 'requested', to: 'running' }, lineOf('consumed', 'c9')),
    ).toBeNull();
    const denied = callOf('c1', { status: 'denied', reason: 'too much', expiresAt: 5_000 });
    expect(
      await store().moveCall(
        key,
        { id: 'c1', from: 'requested', to: 'denied', reason: 'too much', expiresAt: 5_000 },
        lineOf('denied', 'c1', { reason: 'too much' }),
      ),
    ).toEqual(denied);
    expect(await store().findCall(key, { id: 'c1' })).toEqual(denied);
    expect((await auditLines(store(), key)).map(({ at, kind, reason }) => [at, kind, reason])).toEqual([
      [1_000, 'issued', null],
      [2_000, 'denied', 'too much'],
    ]);
  });

  test('a move keeps the reason and the expiry that it does not name, and can remove them', async () => {
    await store().issueCalls(key, [callOf('c1', { reason: 'why', expiresAt: 5_000 })]);
    expect(await store().moveCall(key, { id: 'c1', from: 'requested', to: 'approved' }, null)).toEqual(
      callOf('c1', { status: 'approved', reason: 'why', expiresAt: 5_000 }),
    );
    expect(
      await store().moveCall(
        key,
        { id: 'c1', from: 'approved', to: 'running', reason: null, expiresAt: null },
        null,
      ),
    ).toEqual(callOf('c1', { status: 'running' }));
  });

  test('a move whose audit line cannot be written as JSON does not happen', async () => {
    await store().issueCalls(key, [callOf('c1')]);
    const before = await everything(store());
    await expect(
      store().moveCall(
        key,
        { id: 'c1', from: 'requested', to: 'approved' },
        lineOf('approved', 'c1', { args: { big: 1n } }),
      ),
    ).rejects.toThrow(StoreError);
    expect(await everything(store())).toEqual(before);
  });

  test('of a hundred concurrent moves of one call, exactly one succeeds', async () => {
    await store().issueCalls(key, [callOf('c1'), callOf('c2', { status: 'approved' })]);
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const to: CallStatus = index % 2 === 0 ? 'approved' : 'denied';
        const kind = index % 2 === 0 ? 'approved' : 'denied';
        return store().moveCall(
          key,
          { id: 'c1', from: 'requested', to, reason: `${index}` },
          lineOf(kind, 'c1'),
        );
      }),
    );
    const consumed = await Promise.all(
      Array.from({ length: 100 }, () =>
        store().moveCall(key, { id: 'c2', from: 'approved', to: 'running' }, lineOf('consumed', 'c2')),
      ),
    );
    const taken = decisions.filter((call) => call !== null);
    expect(taken).toHaveLength(1);
    expect(await store().findCall(key, { id: 'c1' })).toEqual(taken[0]);
    expect(consumed.filter((call) => call !== null)).toEqual([callOf('c2', { status: 'running' })]);
    expect((await auditLines(store(), key)).map((line) => line.kind)).toEqual([
      'issued',
      'issued',
      taken[0]?.status,
      'consumed',
    ]);
  });

  test('an event settles the calls it answers, and only those', async () => {
    await store().createSession(keyOf('s2'), {});
    await store().issueCalls(keyOf('s2'), [callOf('c1')]);
    await store().issueCalls(
      key,
      (['requested', 'approved', 'denied', 'expired', 'running'] as const).map((status, index) =>
        callOf(`c${index}`, { status }),
      ),
    );
    await store().appendEvent(key, textEvent('e1', 'c0'));
    expect(await store().openCalls(key)).toHaveLength(5);
    await store().appendEvent(key, answerEvent('e2', ['c4', 'unknown', 'c2', 'c1', 'c3']));
    expect(await store().openCalls(key)).toEqual([callOf('c0')]);
    expect(await store().findCall(key, { id: 'c4' })).toEqual(callOf('c4', { status: 'settled' }));
    expect(await store().findCall(key, { approvalId: 'approval_c2' })).toEqual(
      callOf('c2', { status: 'settled' }),
    );
    expect(await store().moveCall(key, { id: 'c4', from: 'running', to: 'settled' }, null)).toBeNull();
    expect(await store().openCalls(keyOf('s2'))).toEqual([callOf('c1')]);
  });
}
