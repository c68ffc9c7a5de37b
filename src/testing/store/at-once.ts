import { type OwnedKey, StaleFence } from '../../server/store/store.ts';
import {
  auditLines,
  callOf,
  keyOf,
  lineOf,
  messageOf,
  type Opened,
  type TestRunner,
  textEvent,
} from './setup.ts';

const key = keyOf('s1');
const MANY = 40;
const many = Array.from({ length: MANY }, (_, index) => index);
const names = (prefix: string) => many.map((index) => `${prefix}${index}`).sort();

/** The tests of concurrent writes: of one owner over several connections, and to several sessions of one user. */
export function atOnceSuite({ test, expect, beforeEach }: TestRunner, { store }: Opened): void {
  beforeEach(() => store().createSession(key, {}));

  test('concurrent writes of one owner are all stored, each once', async () => {
    await Promise.all(
      many.flatMap((index) => [
        store().appendEvent(key, textEvent(`e${index}`, 'hi')),
        store().putMessage(key, messageOf(`m${index}`, 'hi')),
        store().addWaiting(key, { message: messageOf(`w${index}`, 'hi'), answerId: null }),
        store().issueCalls(key, [callOf(`c${index}`)]),
        store().acceptRequest(key, { requestId: `r${index}`, messageId: null, parts: 0 }),
      ]),
    );
    const session = await store().loadSession(key);
    expect(session?.events.map(({ id }) => id).sort()).toEqual(names('e'));
    expect((await store().loadMessages(key)).map(({ id }) => id).sort()).toEqual(names('m'));
    expect((await store().waitingMessages(key)).map(({ message }) => message.id).sort()).toEqual(names('w'));
    expect((await store().openCalls(key)).map(({ id }) => id).sort()).toEqual(names('c'));
    expect((await store().acceptedRequests(key)).map(({ requestId }) => requestId).sort()).toEqual(
      names('r'),
    );
    expect(await auditLines(store(), key)).toHaveLength(MANY);
  });

  test('concurrent changes of shared state by many sessions are all stored', async () => {
    await Promise.all(many.map((index) => store().createSession(keyOf(`t${index}`), {})));
    await Promise.all(
      many.map((index) =>
        store().appendEvent(
          keyOf(`t${index}`),
          // Each event changes app state and user state, half of the events in the opposite order: the writes must not deadlock.
          textEvent('e1', 'hi', Object.fromEntries(pairsOf(index))),
        ),
      ),
    );
    const state = (await store().loadSession(key))?.state ?? {};
    expect(Object.keys(state).sort()).toEqual([...names('app:a'), ...names('user:u')]);
  });

  test('of many concurrent changes of one value from the same earlier value, one is stored', async () => {
    const seen = { 'user:wallet': 100 };
    await store().appendEvent(key, textEvent('e0', 'hi', seen));
    await Promise.all(many.map((index) => store().createSession(keyOf(`t${index}`), {})));
    const results = await Promise.allSettled(
      many.map((index) =>
        store().appendEvent(keyOf(`t${index}`), textEvent('e1', 'hi', { 'user:wallet': index }), seen),
      ),
    );
    const changed = results.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
    expect(changed).toHaveLength(1);
    expect((await store().loadSession(key))?.state).toEqual({ 'user:wallet': changed[0] });
  });

  test('when a session gets many owners at once, only the last one may write', async () => {
    const owners = (await Promise.all(many.map(() => store().own(key)))).filter((owner) => owner !== null);
    expect(new Set(owners.map(({ fence }) => fence)).size).toBe(MANY);
    const last = owners.reduce((a, b) => (a.fence > b.fence ? a : b));
    const write = (owner: OwnedKey) => store().putMessage(owner, messageOf('m1', String(owner.fence)));
    for (const owner of owners) if (owner !== last) await expect(write(owner)).rejects.toThrow(StaleFence);
    await write(last);
    expect(await store().loadMessages(key)).toEqual([messageOf('m1', String(last.fence))]);
  });

  test('of many concurrent creations of one session, one succeeds', async () => {
    const made = await Promise.allSettled(many.map(() => store().createSession(keyOf('s2'), {})));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a session that is deleted during writes leaves no messages', async () => {
    await Promise.allSettled(
      many.flatMap((index) => [
        store().putMessage(key, messageOf(`m${index}`, 'hi')),
        index % 10 === 5 ? store().deleteSession(key) : store().audit(key, lineOf('refused', 'c1')),
      ]),
    );
    expect(await store().loadSession(key)).toBeNull();
    await store().createSession(key, {});
    expect(await store().loadMessages(key)).toEqual([]);
  });
}

function pairsOf(index: number): [string, number][] {
  const pairs: [string, number][] = [
    [`app:a${index}`, index],
    [`user:u${index}`, index],
  ];
  return index % 2 === 0 ? pairs : pairs.reverse();
}
