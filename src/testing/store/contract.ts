import { type Store, StoreError } from '../../server/store/store.ts';
import { artifactsSuite } from './artifacts.ts';
import { atOnceSuite } from './at-once.ts';
import { auditSuite } from './audit.ts';
import { callsSuite } from './calls.ts';
import { eventsSuite } from './events.ts';
import { keysSuite } from './keys.ts';
import { filesSuite, messagesSuite } from './messages.ts';
import { outboxSuite } from './outbox.ts';
import { ownersSuite } from './owners.ts';
import { requestsSuite } from './requests.ts';
import { sessionsSuite } from './sessions.ts';
import { keyOf, lineOf, messageOf, type Opened, standingClock, type TestRunner, textEvent } from './setup.ts';
import { textsSuite } from './texts.ts';
import { waitingSuite } from './waiting.ts';

const key = keyOf('s1');

/** The suites of the contract, by subject. */
const suites = {
  sessions: sessionsSuite,
  keys: keysSuite,
  'events and state': eventsSuite,
  messages: messagesSuite,
  'queued messages': waitingSuite,
  calls: callsSuite,
  'the audit log': auditSuite,
  requests: requestsSuite,
  files: filesSuite,
  artifacts: artifactsSuite,
  owners: ownersSuite,
  outbox: outboxSuite,
  'concurrent writes': atOnceSuite,
  texts: textsSuite,
  closing: endSuite,
};

/**
 * The whole contract of a store, as tests of your test runner. `open` opens an empty store whose times come from `now`; each test opens one and closes it.
 *
 * @example
 * storeContract(vitest, 'mine', (now) => openMyStore({ now }));
 */
export function storeContract(
  runner: TestRunner,
  name: string,
  open: (now: () => number) => Promise<Store>,
): void {
  runner.describe(`the ${name} store`, () => {
    const clock = standingClock();
    let store: Store;
    runner.beforeEach(async () => {
      clock.set(1_000);
      store = await open(clock.now);
    });
    runner.afterEach(() => store.close());
    for (const [subject, suite] of Object.entries(suites)) {
      runner.describe(subject, () => suite(runner, { store: () => store, clock }));
    }
  });
}

function endSuite({ test, expect }: TestRunner, { store: opened }: Opened): void {
  test('a closed store refuses every call, and may be closed again', async () => {
    const store = opened();
    await store.createSession(key, {});
    const closing = [store.close(), store.close()];
    await Promise.all(closing);
    for (const use of [
      () => store.createSession(key, {}),
      () => store.loadSession(key),
      () => store.loadEvents(key, { from: 0, events: 1, bytes: 1_000 }),
      () => store.own(key),
      () => store.findSession(key),
      () => store.listSessions('shop', 'ann'),
      () => store.listAllSessions('shop', { count: 1 }),
      () => store.sessionBytes(key),
      () => store.renameSession(key, null),
      () => store.deleteSession(key),
      () => store.appendEvent(key, textEvent('e1', 'hi')),
      () => store.putMessage(key, messageOf('m1', 'hi')),
      () => store.loadMessages(key),
      () => store.loadMessage(key, 'm1'),
      () => store.loadPage(key, { count: 1, bytes: 1_000 }),
      () => store.truncateMessages(key, 'm1'),
      () => store.addWaiting(key, { message: messageOf('m1', 'hi'), answerId: null }),
      () => store.waitingMessages(key),
      () => store.issueCalls(key, []),
      () => store.openCalls(key),
      () => store.findCall(key, { id: 'c1' }),
      () => store.findCalls('shop', { id: 'c1' }),
      () => store.moveCall(key, { id: 'c1', from: 'requested', to: 'approved' }, null),
      () => store.decideCall(key, { id: 'c1', to: 'approved', reason: null }, lineOf('approved', 'c1')),
      () => store.audit(key, lineOf('refused', 'c1')),
      () => store.loadAuditPage(key, { count: 1, bytes: 1 }),
      () => store.acceptRequest(key, { requestId: 'r1', messageId: null, parts: 0 }),
      () => store.acceptedRequests(key),
      () => store.putFile(key, 'f1', { mediaType: 'image/png', bytes: new Uint8Array() }),
      () => store.loadFile(key, 'f1'),
      () => store.saveArtifact(key, 'a1', { part: '{}', bytes: null, mediaType: null, metadata: null }),
      () => store.loadArtifact(key, 'a1'),
      () => store.keepEvents(key, []),
      () => store.claimEvents('shop', 'billing', { leaseMs: 1, queues: 1, events: 1 }),
      () => store.keepClaim({ claim: 'c', queue: 1, attempts: 1, events: [] }, 1),
      () => store.endClaim({ claim: 'c', queue: 1, attempts: 1, events: [] }),
      () => store.trimEvents('shop', 'billing', { before: 0, count: 1 }),
      () => store.artifactNames(key),
      () => store.artifactVersions(key, 'a1'),
      () => store.removeArtifact(key, 'a1'),
      () => store.userArtifactBytes(key),
    ]) {
      await expect(use()).rejects.toThrow(new StoreError('The store is closed.'));
    }
  });
}
