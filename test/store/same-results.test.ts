import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CallStatus, type OwnedKey, type Store, StoreError } from '../../src/server/store/store.ts';
import {
  answerEvent,
  auditLines,
  callOf,
  keyOf,
  lineOf,
  messageOf,
  standingClock,
  textEvent,
} from '../../src/testing/store/setup.ts';
import { kinds } from './support/stores.ts';

type Step = (store: Store, key: (name: string) => OwnedKey) => Promise<unknown>;

const clock = standingClock();
const stores: Store[] = [];

beforeAll(async () => {
  for (const [, open] of kinds) stores.push(await open(clock.now));
});
afterAll(async () => {
  for (const store of stores) await store.close();
});

const name = fc.constantFrom('a', 'b', '__proto__', 'a\0', '\ud800');
const call = fc.constantFrom('c1', 'c2', 'c3', 'constructor');
const status = fc.constantFrom<CallStatus>(
  'requested',
  'approved',
  'denied',
  'expired',
  'running',
  'settled',
);
const text = fc.string({ unit: 'binary', maxLength: 8 });
const json = fc.jsonValue({ maxDepth: 2 });
const stateKey = fc.constantFrom('a', '__proto__', 'app:x', 'user:x', 'temp:x', 'app:', 'constructor');
const delta = fc
  .uniqueArray(fc.tuple(stateKey, fc.oneof(json, fc.constant(undefined), fc.constant(1n))), {
    maxLength: 3,
    selector: ([key]) => key,
  })
  .map((entries) => Object.fromEntries(entries));

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(name, delta).map(
    ([id, state]): Step =>
      (store, key) =>
        store.createSession(key(id), state),
  ),
  fc.tuple(name, fc.constantFrom('e1', 'e2', 'e3'), text, delta).map(
    ([id, event, texts, change]): Step =>
      (store, key) =>
        store.appendEvent(key(id), textEvent(event, texts, change)),
  ),
  fc.tuple(name, fc.uniqueArray(call, { maxLength: 2 }), delta).map(
    ([id, calls, change]): Step =>
      (store, key) =>
        store.appendEvent(key(id), answerEvent(`answer ${calls}`, calls, change)),
  ),
  fc.tuple(name, fc.constantFrom('m1', 'm2', 'm3'), text).map(
    ([id, message, texts]): Step =>
      (store, key) =>
        store.putMessage(key(id), messageOf(message, texts)),
  ),
  fc.tuple(name, fc.constantFrom('m1', 'm2', 'm3')).map(
    ([id, message]): Step =>
      (store, key) =>
        store.truncateMessages(key(id), message),
  ),
  fc.tuple(name, fc.array(fc.tuple(call, status, fc.boolean(), json), { maxLength: 3 })).map(
    ([id, calls]): Step =>
      (store, key) =>
        store.issueCalls(
          key(id),
          calls.map(([callId, stands, asks, value]) =>
            callOf(callId, {
              status: stands,
              args: Object.fromEntries([['__proto__', value]]),
              ...(asks ? {} : { approvalId: null }),
            }),
          ),
        ),
  ),
  fc
    .record({ id: call, from: status, to: status, reason: fc.option(text), expiresAt: fc.option(fc.nat()) })
    .chain((move) => fc.tuple(name, fc.constant(move), fc.boolean(), fc.boolean()))
    .map(([id, { reason, expiresAt, ...move }, names, writes]): Step => {
      const whole = names ? { ...move, reason, expiresAt } : move;
      return (store, key) =>
        store.moveCall(key(id), whole, writes ? lineOf('approved', move.id, { reason }) : null);
    }),
  fc.tuple(name, call, fc.constantFrom('approved' as const, 'denied' as const), fc.option(text)).map(
    ([id, callId, to, reason]): Step =>
      (store, key) =>
        store.decideCall(key(id), { id: callId, to, reason }, lineOf(to, callId, { reason })),
  ),
  fc.tuple(name, text, fc.option(delta)).map(
    ([id, reason, args]): Step =>
      (store, key) =>
        store.audit(key(id), lineOf('refused', 'c1', { reason, args })),
  ),
  fc.tuple(name, fc.option(text)).map(
    ([id, title]): Step =>
      (store, key) =>
        store.renameSession(key(id), title),
  ),
  name.map(
    (id): Step =>
      (store, key) =>
        store.deleteSession(key(id)),
  ),
  fc.tuple(name, fc.constantFrom('f1', 'f2'), text, fc.uint8Array()).map(
    ([id, file, mediaType, bytes]): Step =>
      (store, key) =>
        store.putFile(key(id), file, { mediaType, bytes }),
  ),
);

test('memory and SQLite give the same results for the same operations', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, fc.nat(2)), { maxLength: 30 }), async (steps) => {
      const app = `app ${run++}`;
      const key = (id: string) => keyOf(id, 'ann', app);
      for (const [each, wait] of steps) {
        clock.set(clock.now() + wait);
        const [one, two] = await both((store) => outcome(() => each(store, key)));
        expect(two).toEqual(one);
      }
      const [one, two] = await both((store) => everything(store, app));
      expect(two).toEqual(one);
    }),
    { numRuns: 150 },
  );
});

function both<T>(use: (store: Store) => Promise<T>): Promise<T[]> {
  return Promise.all(stores.map(use));
}

async function outcome(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return { result: flat(await work()) };
  } catch (error) {
    if (error instanceof StoreError) return 'refused';
    throw error;
  }
}

async function everything(store: Store, app: string): Promise<unknown> {
  const summaries = await store.listSessions(app, 'ann');
  const sessions = ['a', 'b', '__proto__', 'a\0', '\ud800'].map(async (id) => {
    const key = keyOf(id, 'ann', app);
    return [
      await store.loadSession(key),
      await store.loadMessages(key),
      await store.openCalls(key),
      await store.findCall(key, { id: 'c1' }),
      await store.findCall(key, { approvalId: 'approval_c2' }),
      await auditLines(store, key),
      await store.loadFile(key, 'f1'),
    ];
  });
  return flat([summaries, await Promise.all(sessions)]);
}

/** As text, since a comparison of objects ignores keys such as `__proto__`. */
function flat(value: unknown): string {
  return JSON.stringify(value) ?? 'undefined';
}
