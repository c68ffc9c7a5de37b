import type { Message } from '../../protocol/index.ts';
import { StoreError, type WaitingMessage } from '../../server/store/store.ts';
import { keyOf, messageOf, type Opened, type TestRunner } from './setup.ts';

const key = keyOf('s1');
const waitingOf = (id: string, text = 'hi', answerId: string | null = null): WaitingMessage => ({
  message: messageOf(id, text),
  answerId,
});
const answerOf = (id: string): Message => ({
  id,
  role: 'assistant',
  parts: [{ type: 'text', text: 'Yes.' }],
});

/** The tests of queued messages. */
export function waitingSuite({ test, expect, beforeEach }: TestRunner, { store }: Opened): void {
  const ids = async () => (await store().waitingMessages(key)).map(({ message }) => message.id);

  beforeEach(() => store().createSession(key, {}));

  test('queued messages keep their order, are no messages of the session, and are queued once', async () => {
    expect(await store().waitingMessages(key)).toEqual([]);
    for (const id of ['b', 'a', 'c']) await store().addWaiting(key, waitingOf(id, 'hi', `answer ${id}`));
    await store().addWaiting(key, waitingOf('a', 'changed'));
    expect(await store().waitingMessages(key)).toEqual([
      waitingOf('b', 'hi', 'answer b'),
      waitingOf('a', 'changed'),
      waitingOf('c', 'hi', 'answer c'),
    ]);
    expect(await store().loadMessages(key)).toEqual([]);
    expect(await store().waitingMessages(keyOf('s1', 'bob'))).toEqual([]);
  });

  test('a message stays queued until an answer after it is stored', async () => {
    await store().putMessage(key, messageOf('m1', 'one'));
    for (const id of ['m2', 'm3']) await store().addWaiting(key, waitingOf(id));
    await store().putMessage(key, answerOf('a1'));
    await store().putMessage(key, messageOf('m2', 'hi'));
    expect(await ids()).toEqual(['m2', 'm3']);
    await store().putMessage(key, answerOf('a1'));
    expect(await ids()).toEqual(['m2', 'm3']);
    await store().putMessage(key, answerOf('a2'));
    expect(await ids()).toEqual(['m3']);
  });

  test('queued messages are removed with their session, and a session that does not exist queues none', async () => {
    await store().addWaiting(key, waitingOf('m1'));
    await store().deleteSession(key);
    expect(await ids()).toEqual([]);
    await expect(store().addWaiting(key, waitingOf('m1'))).rejects.toThrow(StoreError);
    await store().createSession(key, {});
    expect(await ids()).toEqual([]);
  });

  test('a request is stored together with its queued message, or not at all', async () => {
    const accepted = { requestId: 'r1', messageId: 'a1', parts: 0 };
    const broken = { message: { ...messageOf('m0', 'hi'), metadata: { big: 1n } as never }, answerId: null };
    await expect(store().addWaiting(key, broken, accepted)).rejects.toThrow(StoreError);
    expect(await store().acceptedRequests(key)).toEqual([]);
    await store().addWaiting(key, waitingOf('m1', 'hi', 'a1'), accepted);
    expect(await store().acceptedRequests(key)).toEqual([accepted]);
  });
}
