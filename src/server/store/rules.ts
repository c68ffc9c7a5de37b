import { createHash } from 'node:crypto';
import type { Message } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import {
  type AuditEntry,
  type CallMove,
  type CallRecord,
  type Decision,
  type OwnedKey,
  type PageRequest,
  type SessionKey,
  type SessionSummary,
  StaleFence,
  type Store,
  StoreError,
  StoreUnavailable,
} from './store.ts';

/** The id of a file, made from its content: a file that a message and an event refer to is stored once. */
export function fileIdOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

/** A key as one text. JSON keeps its parts apart whatever they contain. */
export function nameOf({ app, user, id }: SessionKey): string {
  return JSON.stringify([app, user, id]);
}

/** Throws when a session, as it is stored, belongs to someone else than whoever writes. */
export function checkOwner(session: { fence: number }, key: OwnedKey): void {
  if (session.fence !== key.fence) throw new StaleFence(key);
}

/** A decision as a change of status. */
export function decisionMove(decision: Decision): CallMove {
  return { from: 'requested', ...decision };
}

/** The line that is written when a call asks for approval. */
export function issuedLine(call: CallRecord): AuditEntry {
  return {
    kind: 'issued',
    approvalId: call.approvalId,
    toolCallId: call.id,
    toolName: call.toolName,
    argsHash: call.argsHash,
    args: call.args,
    reason: null,
  };
}

type Used = Pick<SessionSummary, 'id' | 'updatedAt'>;

/** Sorts sessions in place; those used in the same millisecond stand by id. */
export function lastUsedFirst<S extends Used>(sessions: S[]): S[] {
  return sessions.sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1));
}

/** Whether a session stands after another one in the list of those used last. */
export function isUsedBefore(session: Used, other: Used): boolean {
  if (session.updatedAt !== other.updatedAt) return session.updatedAt < other.updatedAt;
  return session.id > other.id;
}

/** Says that there is nothing to write to. */
export function noSuchSession(key: SessionKey): StoreError {
  return new StoreError(`There is no session ${key.id}.`);
}

/** Says that a call or an approval stands in the ledger and is not written twice. */
export function recordedAlready(name: string): StoreError {
  return new StoreError(`The ${name} is recorded already.`);
}

/** How many of the first things fit, by their sizes: at most so many of so much together, but one always does. */
export function fitting(sizes: readonly number[], count: number, total: number): number {
  let fit = 0;
  let sum = 0;
  for (const size of sizes) {
    sum += size;
    if (fit === count || (fit > 0 && sum > total)) break;
    fit++;
  }
  return fit;
}

/** How many messages are read when a process opens a session. */
const RECENT: PageRequest = { count: 2000, bytes: 8 * 1024 * 1024 };

/** The newest page of a session's messages, after those older messages whose ids are in `named`. */
export async function recentMessages(
  store: Store,
  key: SessionKey,
  named: Iterable<string> = [],
  page: PageRequest = RECENT,
): Promise<{ messages: Message[]; older: string | null }> {
  const found = await store.loadPage(key, page);
  const messages = found?.messages ?? [];
  const [first] = messages;
  if (!found?.hasOlder || first === undefined) return { messages, older: null };
  const known = new Set(messages.map(({ id }) => id));
  const before: Message[] = [];
  for (const id of new Set(named)) {
    const message = known.has(id) ? null : await store.loadMessage(key, id);
    if (message) before.push(message);
  }
  return { messages: [...before, ...messages], older: first.id };
}

const MIN_WAIT_MS = 500;
const MAX_WAIT_MS = 5000;

/** When a write is given up, and what is called when it has to wait. */
export interface Persistence {
  clock: Clock;
  /** Whether the write is of no use any more: another process owns the session, or it was removed. */
  isOver: () => boolean;
  /** Called once, when the write failed for the first time. */
  onWait: (error: StoreUnavailable) => void;
}

/**
 * Writes what the person has already read, and must not be lost: while the store is unavailable the write is tried again, with growing waits.
 * Rejects as the write does when it fails for another reason, such as a later owner, or when it is of no use any more.
 */
export async function untilStored<T>(write: () => Promise<T>, persistence: Persistence): Promise<T> {
  const { clock, isOver, onWait } = persistence;
  let wait = MIN_WAIT_MS;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || isOver()) throw error;
      if (wait === MIN_WAIT_MS) onWait(error);
    }
    await new Promise<void>((resolve) => {
      clock.after(wait, resolve);
    });
    wait = Math.min(wait * 2, MAX_WAIT_MS);
  }
}
