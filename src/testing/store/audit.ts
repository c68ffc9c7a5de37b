import {
  auditLines,
  callOf,
  everything,
  keyOf,
  lineOf,
  messageOf,
  type Opened,
  type TestRunner,
  textEvent,
} from './setup.ts';

const key = keyOf('s1');

/** The tests of the audit log. */
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
    expect(await auditLines(store(), key)).toEqual([
      {
        at: 1_000,
        sessionId: 's1',
        user: 'ann',
        ...lineOf('refused', 'c1', { reason: 'unknown approval', args: null }),
      },
      { at: 2_000, sessionId: 's1', user: 'ann', ...bare },
    ]);
  });

  test('a line names the application that decided, and the person that the application named', async () => {
    await store().createSession(key, {});
    await store().issueCalls(key, [callOf('c1')]);
    const line = lineOf('approved', 'c1', { by: { application: 'back\0office', person: 'Zoë' } });
    await store().decideCall(key, { id: 'c1', to: 'approved', reason: null }, line);
    expect((await auditLines(store(), key)).at(-1)).toEqual({
      at: 1_000,
      sessionId: 's1',
      user: 'ann',
      ...line,
    });
  });

  test('lines are read page by page from the newest, by number and by bytes', async () => {
    await store().createSession(key, {});
    for (const reason of ['one', 'two', 'three', 'four', 'five']) {
      await store().audit(key, lineOf('refused', 'c1', { reason, args: null }));
      await store().audit(keyOf('s2'), lineOf('refused', 'c1', { reason: 'elsewhere', args: null }));
    }
    const read = async (count: number, bytes: number, before?: number) => {
      const { lines, older } = await store().loadAuditPage(key, { before, count, bytes });
      return { reasons: lines.map((line) => line.reason), older };
    };
    const newest = await read(2, 1000);
    expect(newest.reasons).toEqual(['four', 'five']);
    // A line that is added between two reads does not change which lines an older page has.
    await store().audit(key, lineOf('refused', 'c1', { reason: 'six', args: null }));
    const middle = await read(2, 1000, newest.older ?? 0);
    expect(middle.reasons).toEqual(['two', 'three']);
    expect(await read(2, 1000, middle.older ?? 0)).toEqual({ reasons: ['one'], older: null });
    expect((await read(10, 1)).reasons).toEqual(['six']);
    expect((await read(6, 100_000)).older).toBeNull();
    expect(await store().loadAuditPage(keyOf('s3'), { count: 5, bytes: 5 })).toEqual({
      lines: [],
      older: null,
    });
    expect(await auditLines(store(), key, 1)).toHaveLength(6);
  });

  test('deleting a session removes its lines of refused answers that belong to no call', async () => {
    await store().createSession(key, {});
    await store().issueCalls(key, [callOf('c1')]);
    const unknown = { toolName: null, argsHash: null, args: null };
    await store().audit(key, lineOf('refused', 'c9', { ...unknown, reason: 'no such approval' }));
    await store().audit(key, lineOf('refused', 'c1', { reason: 'not asked yet' }));
    await store().audit(keyOf('s2'), lineOf('refused', 'c9', unknown));
    await store().deleteSession(key);
    const left = await auditLines(store(), key);
    expect(left.map(({ kind, toolCallId, reason }) => [kind, toolCallId, reason])).toEqual([
      ['issued', 'c1', null],
      ['refused', 'c1', null],
    ]);
    expect(await auditLines(store(), keyOf('s2'))).toHaveLength(1);
  });

  test('deleting a session removes everything but its audit lines, and their arguments and reasons', async () => {
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
    expect((await auditLines(store(), key))[2]).toEqual({
      ...common,
      ...lineOf('refused', 'c1', { reason: 'no such session', args: null }),
    });
    expect((await auditLines(store(), keyOf('s2')))[0]?.args).toEqual({ amount: 5, to: 'Bob' });

    await store().createSession(key, {});
    expect(await everything(store())).toMatchObject({
      session: { state: {}, events: [], title: null },
      messages: [],
      calls: [],
      file: null,
    });
  });
}
