import { StateConflict, StoreError } from '../../server/store/store.ts';
import { callOf, keyOf, messageOf, type Opened, type TestRunner, textEvent } from './setup.ts';

const key = keyOf('s1');

/** The tests of accepted requests of clients. */
export function requestsSuite({ test, expect }: TestRunner, { store }: Opened): void {
  const request = (requestId: string, messageId: string | null = null, parts = 0) => ({
    requestId,
    messageId,
    parts,
  });

  test('[B24] a request is stored with the write that it asks for, or alone, in the order of acceptance', async () => {
    await store().createSession(key, {});
    await store().issueCalls(key, [callOf('c1')]);
    await store().putMessage(key, messageOf('m1', 'hi'), request('r1', 'a1'));
    const move = { id: 'c1', from: 'requested' as const, to: 'approved' as const };
    await store().moveCall(key, move, null, request('r2'));
    await store().appendEvent(key, textEvent('e1', 'hi'), undefined, request('r3', 'a1', 2));
    await store().acceptRequest(key, request('r4'));
    await store().acceptRequest(key, request('r1', 'a2'));
    expect(await store().acceptedRequests(key)).toEqual([
      request('r2'),
      request('r3', 'a1', 2),
      request('r4'),
      request('r1', 'a2'),
    ]);
    await store().deleteSession(key);
    await store().createSession(key, {});
    expect(await store().acceptedRequests(key)).toEqual([]);
  });

  test('[B24] a request is not stored when the write that it asks for fails', async () => {
    await expect(store().acceptRequest(key, request('r0'))).rejects.toThrow(StoreError);
    await store().createSession(key, { color: 'red' });
    await store().issueCalls(key, [callOf('c1')]);
    const move = { id: 'c1', from: 'approved' as const, to: 'running' as const };
    expect(await store().moveCall(key, move, null, request('r1'))).toBeNull();
    const conflict = textEvent('e1', 'hi', { color: 'blue' });
    await expect(store().appendEvent(key, conflict, { color: 'green' }, request('r2'))).rejects.toThrow(
      StateConflict,
    );
    expect(await store().acceptedRequests(key)).toEqual([]);
  });

  test('[B24c] the newest 256 requests of a session stay stored', async () => {
    await store().createSession(key, {});
    await store().createSession(keyOf('s2'), {});
    await store().acceptRequest(keyOf('s2'), request('other'));
    for (let count = 1; count <= 300; count++) await store().acceptRequest(key, request(`r${count}`));
    const kept = (await store().acceptedRequests(key)).map(({ requestId }) => requestId);
    expect(kept).toEqual(Array.from({ length: 256 }, (_, index) => `r${index + 45}`));
    expect(await store().acceptedRequests(keyOf('s2'))).toEqual([request('other')]);
  });
}
