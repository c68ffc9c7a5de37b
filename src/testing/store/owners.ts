import { type OwnedKey, StaleFence } from '../../server/store/store.ts';
import {
  answerEvent,
  auditLines,
  callOf,
  keyOf,
  lineOf,
  messageOf,
  type Opened,
  type TestRunner,
} from './setup.ts';

const key = keyOf('s1');

/** The tests of owners: after a session has a new owner, the store refuses the writes of the earlier ones. */
export function ownersSuite({ test, expect, beforeEach }: TestRunner, { store }: Opened): void {
  const own = async (): Promise<OwnedKey> => {
    const owned = await store().own(key);
    if (!owned) throw new Error('There is no session to own.');
    return owned;
  };
  const writesOf = (owner: OwnedKey): (() => Promise<unknown>)[] => [
    () => store().appendEvent(owner, answerEvent('e1', ['c1'], { mood: 'wild', 'app:x': 1, 'user:x': 1 })),
    () => store().putMessage(owner, messageOf('m1', 'changed')),
    () => store().putMessage(owner, messageOf('m2', 'new')),
    () => store().truncateMessages(owner, 'm1'),
    () => store().truncateMessages(owner, 'm9'),
    () => store().issueCalls(owner, [callOf('c2')]),
    () => store().moveCall(owner, { id: 'c1', from: 'approved', to: 'running' }, lineOf('consumed', 'c1')),
    () => store().moveCall(owner, { id: 'c9', from: 'approved', to: 'running' }, null),
    () => store().addWaiting(owner, { message: messageOf('m3', 'waits'), answerId: null }),
    () => store().acceptRequest(owner, { requestId: 'r1', messageId: null, parts: 0 }),
    () => store().putFile(owner, 'f1', { mediaType: 'image/png', bytes: new Uint8Array([1]) }),
  ];
  const content = async () => [
    await store().loadSession(key),
    await store().loadMessages(key),
    await store().openCalls(key),
    await auditLines(store(), key),
    await store().acceptedRequests(key),
    await store().waitingMessages(key),
    await store().loadFile(key, 'f1'),
  ];

  beforeEach(async () => {
    await store().createSession(key, { mood: 'calm' });
    await store().putMessage(key, messageOf('m1', 'hi'));
    await store().issueCalls(key, [callOf('c1', { status: 'approved' })]);
  });

  test('each owner of a session has a greater fence than the owners before it', async () => {
    const [one, two, three] = [await own(), await own(), await own()];
    expect(one).toEqual({ ...key, fence: one.fence });
    expect(one.fence > 0 && two.fence > one.fence && three.fence > two.fence).toBe(true);
  });

  test('an earlier owner writes nothing, and the owner writes as before', async () => {
    const before = await content();
    const first = await own();
    const second = await own();
    expect(await content()).toEqual(before);
    for (const stale of [key, first, { ...second, fence: second.fence + 1 }]) {
      for (const write of writesOf(stale)) await expect(write()).rejects.toThrow(StaleFence);
    }
    expect(await content()).toEqual(before);
    for (const write of writesOf(second)) await write();
    expect((await store().loadSession(key))?.state).toEqual({ mood: 'wild', 'app:x': 1, 'user:x': 1 });
    expect(await store().loadMessages(key)).toEqual([]);
    expect(await store().openCalls(key)).toEqual([callOf('c2')]);
  });

  test('a session that does not exist, or belongs to another user, has no owner', async () => {
    expect(await store().own(keyOf('s2'))).toBeNull();
    expect(await store().own(keyOf('s1', 'bob'))).toBeNull();
    for (const write of writesOf(key).slice(0, 4)) await write();
  });

  test('the owner of a session does not own another session, nor a session that is created again with the same id', async () => {
    const owner = await own();
    await store().createSession(keyOf('s2'), {});
    const other = await store().own(keyOf('s2'));
    expect(other?.fence === owner.fence).toBe(false);
    await store().deleteSession(key);
    expect(await store().truncateMessages(owner, 'm1')).toBe(false);
    await store().createSession(key, {});
    const before = await content();
    for (const write of writesOf(owner)) await expect(write()).rejects.toThrow(StaleFence);
    const next = await own();
    expect(next.fence > owner.fence).toBe(true);
    for (const write of writesOf(owner)) await expect(write()).rejects.toThrow(StaleFence);
    expect(await content()).toEqual(before);
  });

  test('decisions, audit lines, titles and deletion need no owner, and do not change the owner', async () => {
    const owner = await own();
    await store().issueCalls(owner, [callOf('c2'), callOf('c3')]);
    const decided = { id: 'c2', to: 'denied', reason: 'too much' } as const;
    expect(await store().decideCall(key, decided, lineOf('denied', 'c2', { reason: 'too much' }))).toEqual(
      callOf('c2', { status: 'denied', reason: 'too much' }),
    );
    await store().audit(key, lineOf('refused', 'c3'));
    expect(await store().renameSession(key, 'Tea')).toBe(true);
    await store().putMessage(owner, messageOf('m2', 'still mine'));
    expect((await auditLines(store(), key)).map((line) => line.kind)).toEqual([
      'issued',
      'issued',
      'issued',
      'denied',
      'refused',
    ]);
    expect(await store().deleteSession(key)).toBe(true);
  });

  test('of many decisions by two owners, the first one and its audit line are stored', async () => {
    const owners = [await own(), await own()];
    await store().issueCalls(owners[1] ?? key, [callOf('c2')]);
    const decisions = await Promise.all(
      Array.from({ length: 50 }, (_, index) => {
        const to = index % 3 === 0 ? 'approved' : 'denied';
        const by = owners[index % 2] ?? key;
        return store().decideCall(by, { id: 'c2', to, reason: `${index}` }, lineOf(to, 'c2'));
      }),
    );
    const counted = decisions.filter((call) => call !== null);
    expect(counted).toHaveLength(1);
    expect(await store().findCall(key, { id: 'c2' })).toEqual(counted[0]);
    const lines = (await auditLines(store(), key)).filter(({ kind }) => kind !== 'issued');
    expect(lines.map((line) => line.kind)).toEqual([counted[0]?.status]);
    const late = await store().decideCall(
      key,
      { id: 'c2', to: 'approved', reason: null },
      lineOf('approved', 'c2'),
    );
    expect(late).toBeNull();
    expect(
      await store().decideCall(key, { id: 'c1', to: 'denied', reason: null }, lineOf('denied', 'c1')),
    ).toBeNull();
    expect(
      await store().decideCall(key, { id: 'c9', to: 'denied', reason: null }, lineOf('denied', 'c9')),
    ).toBeNull();
  });

  test('an approved call is consumed by its owner alone, even if another process saw the approval', async () => {
    const [first, second] = [await own(), await own()];
    const use = { id: 'c1', from: 'approved', to: 'running' } as const;
    await expect(store().moveCall(first, use, lineOf('consumed', 'c1'))).rejects.toThrow(StaleFence);
    expect(await store().moveCall(second, use, lineOf('consumed', 'c1'))).toMatchObject({
      status: 'running',
    });
    expect((await auditLines(store(), key)).map((line) => line.kind)).toEqual(['issued', 'consumed']);
  });
}
