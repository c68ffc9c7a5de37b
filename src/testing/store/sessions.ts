import { StoreError } from '../../server/store/store.ts';
import {
  auditLines,
  callOf,
  everything,
  keyOf,
  messageOf,
  type Opened,
  type TestRunner,
  textEvent,
} from './setup.ts';

const key = keyOf('s1');
const quiet = { isWaiting: false, hasFailed: false };

/** The tests of sessions, the users that they belong to, and their lists. */
export function sessionsSuite({ test, expect }: TestRunner, { store, clock }: Opened): void {
  test('a new session has its state and nothing else', async () => {
    const fresh = {
      id: 's1',
      title: null,
      createdAt: 1_000,
      updatedAt: 1_000,
      state: { mood: 'calm' },
      events: [],
    };
    expect(await store().createSession(key, { mood: 'calm' })).toEqual(fresh);
    clock.set(2_000);
    expect(await store().loadSession(key)).toEqual(fresh);
    expect(await store().loadMessages(key)).toEqual([]);
    expect(await store().openCalls(key)).toEqual([]);
    expect(await auditLines(store(), key)).toEqual([]);
  });

  test('a session that exists is not created again', async () => {
    await store().createSession(key, { mood: 'calm' });
    await expect(store().createSession(key, { mood: 'wild', 'app:x': 1 })).rejects.toThrow(StoreError);
    expect((await store().loadSession(key))?.state).toEqual({ mood: 'calm' });
  });

  test('a session that was never created is null', async () => {
    expect(await store().loadSession(key)).toBeNull();
    expect(await store().loadMessages(key)).toEqual([]);
    expect(await store().openCalls(key)).toEqual([]);
    expect(await store().findCall(key, { id: 'c1' })).toBeNull();
    expect(await store().findCall(key, { approvalId: 'approval_c1' })).toBeNull();
    expect(await store().loadFile(key, 'f1')).toBeNull();
    expect(await store().renameSession(key, 'x')).toBe(false);
    expect(await store().truncateMessages(key, 'm1')).toBe(false);
    expect(await store().deleteSession(key)).toBe(false);
    expect(await store().moveCall(key, { id: 'c1', from: 'requested', to: 'approved' }, null)).toBeNull();
  });

  test('nothing is written to a session that does not exist', async () => {
    for (const write of [
      () => store().appendEvent(key, textEvent('e1', 'hi', { 'app:x': 1 })),
      () => store().putMessage(key, messageOf('m1', 'hi')),
      () => store().issueCalls(key, [callOf('c1')]),
      () => store().putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array([1]) }),
    ]) {
      await expect(write()).rejects.toThrow(StoreError);
    }
    expect(await store().listSessions('shop', 'ann')).toEqual([]);
    expect(await auditLines(store(), key)).toEqual([]);
    expect((await store().createSession(key, {})).state).toEqual({});
  });

  test('sessions are listed by last use, and those of one instant by id', async () => {
    for (const id of ['b', 'a', 'c', 'd']) await store().createSession(keyOf(id), {});
    clock.set(3_000);
    await store().appendEvent(keyOf('c'), textEvent('e1', 'hi'));
    clock.set(4_000);
    await store().putMessage(keyOf('b'), messageOf('m1', 'hi'));
    await store().renameSession(keyOf('d'), 'Dinner');
    expect(await store().listSessions('shop', 'ann')).toEqual([
      { id: 'b', title: null, createdAt: 1_000, updatedAt: 4_000, ...quiet },
      { id: 'c', title: null, createdAt: 1_000, updatedAt: 3_000, ...quiet },
      { id: 'a', title: null, createdAt: 1_000, updatedAt: 1_000, ...quiet },
      { id: 'd', title: 'Dinner', createdAt: 1_000, updatedAt: 1_000, ...quiet },
    ]);
  });

  test('a page of the list has the sessions with a title or a message, after the session that is named', async () => {
    for (const id of ['e', 'd', 'c', 'b', 'a', 'empty']) await store().createSession(keyOf(id), {});
    for (const id of ['b', 'd', 'e']) await store().putMessage(keyOf(id), messageOf('m1', 'hi'));
    await store().renameSession(keyOf('a'), 'Dinner');
    clock.set(2_000);
    await store().putMessage(keyOf('c'), messageOf('m1', 'hi'));
    const pages: string[][] = [];
    for (let after: { id: string; updatedAt: number } | undefined, isLast = false; !isLast; ) {
      const page = await store().listSessions('shop', 'ann', { after, count: 2 });
      pages.push(page.map(({ id }) => id));
      after = page.at(-1);
      isLast = page.length < 2;
    }
    expect(pages).toEqual([['c', 'a'], ['b', 'd'], ['e']]);
    expect(await store().listSessions('shop', 'bob', { count: 2 })).toEqual([]);
  });

  test('a page of the list of all users has their sessions with a title or a message, and no session twice', async () => {
    const keys = [keyOf('a'), keyOf('a', 'bob'), keyOf('b', 'cid'), keyOf('c'), keyOf('empty', 'dan')];
    for (const one of keys) await store().createSession(one, {});
    for (const one of keys.slice(0, 3)) await store().putMessage(one, messageOf('m1', 'hi'));
    await store().renameSession(keyOf('c'), 'Dinner');
    await store().createSession(keyOf('a', 'ann', 'bank'), {});
    await store().putMessage(keyOf('a', 'ann', 'bank'), messageOf('m1', 'hi'));
    clock.set(2_000);
    await store().putMessage(keyOf('b', 'cid'), messageOf('m2', 'hi'));
    const pages: string[][] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await store().listAllSessions('shop', { cursor: cursor ?? undefined, count: 3 });
      pages.push(page.sessions.map(({ user, id }) => `${user} ${id}`));
      cursor = page.next;
    }
    expect(pages.map(({ length }) => length)).toEqual([3, 1]);
    expect(pages[0]?.[0]).toBe('cid b');
    expect(pages.flat().sort()).toEqual(['ann a', 'ann c', 'bob a', 'cid b']);
    const { sessions } = await store().listAllSessions('shop', { count: 1 });
    const times = { createdAt: 1_000, updatedAt: 2_000 };
    expect(sessions).toEqual([{ user: 'cid', id: 'b', title: null, ...times, ...quiet }]);
    expect(await store().listAllSessions('none', { count: 3 })).toEqual({ sessions: [], next: null });
    await expect(store().listAllSessions('shop', { cursor: 'x', count: 3 })).rejects.toThrow(StoreError);
  });

  test('the size of a session is that of its events, messages and files', async () => {
    expect(await store().sessionBytes(key)).toBe(0);
    await store().createSession(key, {});
    expect(await store().sessionBytes(key)).toBe(0);
    const event = textEvent('e1', 'é');
    await store().appendEvent(key, event);
    await store().putMessage(key, messageOf('m1', 'é'));
    await store().putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array(100) });
    const texts = [event, messageOf('m1', 'é')].map((value) => Buffer.byteLength(JSON.stringify(value)));
    expect(await store().sessionBytes(key)).toBe(100 + texts.reduce((sum, size) => sum + size, 0));
  });

  test('the list tells which sessions wait for the user, and in which the last answer failed', async () => {
    const facts = async () => {
      const [{ isWaiting, hasFailed } = quiet] = await store().listSessions('shop', 'ann');
      return [isWaiting, hasFailed];
    };
    await store().createSession(key, {});
    expect(await facts()).toEqual([false, false]);
    await store().issueCalls(key, [callOf('c1', { status: 'requested', expiresAt: 5_000 })]);
    expect(await facts()).toEqual([true, false]);
    clock.set(5_000);
    expect(await facts()).toEqual([false, false]);
    await store().issueCalls(key, [callOf('c2', { status: 'requested', expiresAt: null })]);
    expect(await facts()).toEqual([true, false]);
    await store().moveCall(key, { id: 'c2', from: 'requested', to: 'approved' }, null);
    expect(await facts()).toEqual([false, false]);
    const cutMessage = { ...messageOf('m1', 'half'), role: 'assistant' as const };
    const cut = { interrupted: true as const, cutOff: true as const };
    for (const metadata of [{ failed: true }, cut, { ...cut, failed: false }]) {
      await store().putMessage(key, { ...cutMessage, metadata });
      expect(await facts()).toEqual([false, true]);
    }
    await store().putMessage(key, { ...cutMessage, metadata: { failed: false } });
    expect(await facts()).toEqual([false, false]);
    await store().putMessage(key, { ...cutMessage, metadata: { failed: true } });
    await store().putMessage(key, messageOf('m2', 'again'));
    expect(await facts()).toEqual([false, false]);
  });

  test('a title can be set, changed and removed', async () => {
    await store().createSession(key, {});
    expect(await store().renameSession(key, 'Lunch')).toBe(true);
    expect((await store().loadSession(key))?.title).toBe('Lunch');
    expect(await store().renameSession(key, null)).toBe(true);
    expect((await store().loadSession(key))?.title).toBeNull();
  });

  test('a session of another user or app is not found, listed, changed or deleted', async () => {
    await store().createSession(key, { secret: 1 });
    await store().appendEvent(key, textEvent('e1', 'hi'));
    await store().putMessage(key, messageOf('m1', 'hi'));
    await store().issueCalls(key, [callOf('c1')]);
    await store().putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array([1]) });
    const before = await everything(store());
    for (const foreign of [keyOf('s1', 'bob'), keyOf('s1', 'ann', 'bank')]) {
      expect(await store().loadSession(foreign)).toBeNull();
      expect(await store().listSessions(foreign.app, foreign.user)).toEqual([]);
      expect(await store().loadMessages(foreign)).toEqual([]);
      expect(await store().openCalls(foreign)).toEqual([]);
      expect(await store().findCall(foreign, { id: 'c1' })).toBeNull();
      expect(await store().findCall(foreign, { approvalId: 'approval_c1' })).toBeNull();
      expect(
        await store().moveCall(foreign, { id: 'c1', from: 'requested', to: 'approved' }, null),
      ).toBeNull();
      expect(await auditLines(store(), foreign)).toEqual([]);
      expect(await store().loadFile(foreign, 'f1')).toBeNull();
      expect(await store().renameSession(foreign, 'mine')).toBe(false);
      expect(await store().truncateMessages(foreign, 'm1')).toBe(false);
      expect(await store().deleteSession(foreign)).toBe(false);
    }
    expect(await everything(store())).toEqual(before);
  });

  test('two users may use the same session id for separate sessions', async () => {
    await store().createSession(key, { who: 'ann' });
    await store().createSession(keyOf('s1', 'bob'), { who: 'bob' });
    await store().appendEvent(key, textEvent('e1', 'from ann'));
    expect((await store().loadSession(keyOf('s1', 'bob')))?.events).toEqual([]);
    await store().deleteSession(key);
    expect((await store().loadSession(keyOf('s1', 'bob')))?.state).toEqual({ who: 'bob' });
  });
}
