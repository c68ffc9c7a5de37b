import type { Event } from '@google/adk';
import type { Message } from '../../protocol/index.ts';
import type {
  AuditEntry,
  AuditLine,
  CallRecord,
  OwnedKey,
  SessionKey,
  Store,
} from '../../server/store/store.ts';

/** The functions of a test runner that a suite uses; the module of vitest and the globals of Jest have them. */
export interface TestRunner {
  describe(name: string, body: () => void): void;
  test(name: string, body: () => Promise<void>): void;
  beforeEach(body: () => Promise<unknown>): void;
  afterEach(body: () => Promise<unknown>): void;
  expect: Expect;
}

/** The part of `expect` that the suites use. */
export interface Expect {
  (value: unknown): Matchers & { rejects: { toThrow(expected: unknown): Promise<void> } };
  objectContaining(value: object): unknown;
}

interface Matchers {
  toBe(expected: unknown): void;
  toBeNull(): void;
  toEqual(expected: unknown): void;
  toHaveLength(length: number): void;
  toHaveProperty(name: string): void;
  toMatchObject(expected: object): void;
}

/** Registers one test for each case, like `test.each`. The first value of a case replaces `%s` in the name of the test. */
export function casesWith(test: TestRunner['test']) {
  return <More extends unknown[]>(cases: [what: string, ...more: More][]) =>
    (name: string, body: (...values: [string, ...More]) => Promise<void>): void => {
      for (const values of cases) test(name.replace('%s', values[0]), () => body(...values));
    };
}

/** A clock that stands still until a test sets it. */
export interface StandingClock {
  now: () => number;
  set(at: number): void;
}

/** A clock that starts at 1000. */
export function standingClock(): StandingClock {
  let at = 1_000;
  return {
    now: () => at,
    set(next) {
      at = next;
    },
  };
}

/** The key of a session that has had no owner yet. The user is `ann` and the app is `shop` unless given. */
export function keyOf(id: string, user = 'ann', app = 'shop'): OwnedKey {
  return { app, user, id, fence: 0 };
}

/** An event with a text. */
export function textEvent(id: string, text: string, delta: Record<string, unknown> = {}): Event {
  return eventOf(id, { role: 'model', parts: [{ text }] }, delta);
}

/** An event that answers calls. */
export function answerEvent(id: string, callIds: string[], delta: Record<string, unknown> = {}): Event {
  const parts = callIds.map((callId) => ({
    functionResponse: { id: callId, name: 'pay', response: { ok: true } },
  }));
  return eventOf(id, { role: 'user', parts }, delta);
}

function eventOf(
  id: string,
  content: NonNullable<Event['content']>,
  stateDelta: Record<string, unknown>,
): Event {
  return {
    id,
    invocationId: 'invocation_1',
    author: 'agent',
    timestamp: 1_000,
    content,
    actions: { stateDelta, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} },
  };
}

/** A user message. */
export function messageOf(id: string, text: string): Message {
  return { id, role: 'user', parts: [{ type: 'text', text }] };
}

/** A call that waits for the user. */
export function callOf(id: string, change: Partial<CallRecord> = {}): CallRecord {
  return {
    id,
    approvalId: `approval_${id}`,
    toolName: 'pay',
    args: { amount: 5, to: 'Bob' },
    argsHash: 'a1b2',
    runsOn: 'server',
    status: 'requested',
    question: { kind: 'approve' },
    answer: null,
    reason: null,
    messageId: 'message_1',
    agent: 'agent',
    invocationId: 'invocation_1',
    branch: null,
    issuedAt: 1_000,
    expiresAt: null,
    ...change,
  };
}

/** An audit line about the call that `callOf(id)` makes. */
export function lineOf(kind: AuditEntry['kind'], id: string, change: Partial<AuditEntry> = {}): AuditEntry {
  return {
    kind,
    approvalId: `approval_${id}`,
    toolCallId: id,
    toolName: 'pay',
    argsHash: 'a1b2',
    args: { amount: 5, to: 'Bob' },
    reason: null,
    ...change,
  };
}

/** A value as a store returns it: written as JSON and read again. */
export function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** All audit lines of a session, oldest first, read page by page. */
export async function auditLines(store: Store, key: SessionKey, count = 1000): Promise<AuditLine[]> {
  const all: AuditLine[] = [];
  let before: number | undefined;
  do {
    const page = await store.loadAuditPage(key, { before, count, bytes: 256 * 1024 });
    all.unshift(...page.lines);
    before = page.older ?? undefined;
  } while (before !== undefined);
  return all;
}

/** What a store has of the session `s1` and its file `f1`, and the other sessions of its user. Tests compare two results to see that nothing has changed. */
export async function everything(store: Store): Promise<Record<string, unknown>> {
  const key = keyOf('s1');
  return {
    session: await store.loadSession(key),
    messages: await store.loadMessages(key),
    calls: await store.openCalls(key),
    log: await auditLines(store, key),
    file: await store.loadFile(key, 'f1'),
    summaries: await store.listSessions('shop', 'ann').then((all) => all.filter(({ id }) => id !== 's1')),
  };
}

/** What a suite tests: the store that was opened for the test, and its clock. */
export interface Opened {
  store(): Store;
  clock: StandingClock;
}
