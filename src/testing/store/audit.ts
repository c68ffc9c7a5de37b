import type { TestRunner } from '../test-runner.ts';
import { everything } from './everything.ts';
import type { Opened } from './opened.ts';
import { callOf, keyOf, lineOf, messageOf, textEvent } from './records.ts';

const key = keyOf('s1');

/** What a store promises about the audit log. */
export function auditSuite({ test, expect }: TestRunner, { store, clock }: Opened): void {
  test('lines are added with time, session and user', async () => {
    await store().createSession(key, {});
    await store().audit(key, lineOf('refused', 'c1', { reason: 'unknown approval', args: null }));
    clock.set(2_000);
    const bare = {
      kind: 'refused' as const,
      approvalId: null,
      toolCallId: null,
      toolName: null,
      argsHash: null,
      args: null,
      reason: null,
    };
    await store().audit(key, bare);
    expect(await store().auditLog(key)).toEqual([
      {
        at: 1_000,
        sessionId: 's1',
        user: 'ann',
        ...lineOf('refused', 'c1', { reason: 'unknown approval', args: null }),
      },
      { at: 2_000, sessionId: 's1', user: 'ann', ...bare },
    ]);
  });

  test('a deleted session leaves its lines, without arguments and reasons, and nothing else', async () => {
    await store().createSession(key, { mood: 'calm' });
    await store().appendEvent(key, textEvent('e1', 'hi'));
    await store().putMessage(key, messageOf('m1', 'hi'));
    await store().issueCalls(key, [callOf('c1')]);
    await store().moveCall(
      key,
      { id: 'c1', from: 'requested', to: 'denied', reason: 'a secret' },
      lineOf('denied', 'c1', { reason: 'a secret' }),
    );
    await store().putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array([1]) });
    await store().createSession(keyOf('s2'), {});
    await store().issueCalls(keyOf('s2'), [callOf('c1')]);

    expect(await store().deleteSession(key)).toBe(true);
    const common = { at: 1_000, sessionId: 's1', user: 'ann' };
    const kept = [
      { ...common, ...lineOf('issued', 'c1', { args: null }) },
      { ...common, ...lineOf('denied', 'c1', { args: null }) },
    ];
    expect(await everything(store())).toEqual({
      session: null,
      messages: [],
      calls: [],
      log: kept,
      file: null,
      summaries: [expect.objectContaining({ id: 's2' })],
    });
    expect(await store().findCall(key, { id: 'c1' })).toBeNull();
    expect(await store().deleteSession(key)).toBe(false);

    await store().audit(key, lineOf('refused', 'c1', { reason: 'no such session' }));
    expect((await store().auditLog(key))[2]).toEqual({
      ...common,
      ...lineOf('refused', 'c1', { reason: 'no such session', args: null }),
    });
    expect((await store().auditLog(keyOf('s2')))[0]?.args).toEqual({ amount: 5, to: 'Bob' });

    await store().createSession(key, {});
    expect(await everything(store())).toMatchObject({
      session: { state: {}, events: [], title: null },
      messages: [],
      calls: [],
      file: null,
    });
  });
}
