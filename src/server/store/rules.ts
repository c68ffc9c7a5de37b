import { createHash } from 'node:crypto';
import {
  type AuditEntry,
  type CallMove,
  type CallRecord,
  type Decision,
  type OwnedKey,
  type SessionKey,
  type SessionSummary,
  StaleFence,
  StoreError,
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
