import { createHash } from 'node:crypto';
import type { Event } from '@google/adk';
import type { Message, Question } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import {
  type AcceptedRequest,
  type AuditEntry,
  type AuditKind,
  type AuditLine,
  type CallMove,
  type CallRecord,
  type CallStatus,
  type DecidedBy,
  type Decision,
  type ListedSession,
  type OwnedKey,
  type PageRequest,
  type SessionKey,
  type SessionSummary,
  StaleFence,
  StateConflict,
  type Store,
  StoreError,
  StoreUnavailable,
} from './store.ts';

/** The id of a file, made from its content, so that a file to which a message and an event refer is stored only once. */
export function fileIdOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

/** A key as one text. Different keys have different texts, whatever characters they contain. */
export function nameOf({ app, user, id }: SessionKey): string {
  return JSON.stringify([app, user, id]);
}

/** Throws when the fence of a stored session differs from that of the key, because another process owns the session. */
export function checkOwner(session: { fence: number }, key: OwnedKey): void {
  if (session.fence !== key.fence) throw new StaleFence(key);
}

/** A decision as a change of status. */
export function decisionMove(decision: Decision): CallMove {
  return { from: 'requested', ...decision };
}

/** Whether a call asks the user something. The steps of such a call have audit lines. */
export function isQuestion({ question }: CallRecord): boolean {
  return question !== null;
}

/** The `issued` audit line of a call that asks the user something. */
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

/** Sorts sessions in place, last used first; those used in the same millisecond by id. */
export function lastUsedFirst<S extends Used>(sessions: S[]): S[] {
  return sessions.sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1));
}

/** Whether a session comes after another one in the order of `lastUsedFirst`. */
export function isUsedBefore(session: Used, other: Used): boolean {
  if (session.updatedAt !== other.updatedAt) return session.updatedAt < other.updatedAt;
  return session.id > other.id;
}

/** The error for a write to a session that does not exist. */
export function noSuchSession(key: SessionKey): StoreError {
  return new StoreError(`There is no session ${key.id}.`);
}

/** The error for a call or an approval that is already recorded. */
export function recordedAlready(name: string): StoreError {
  return new StoreError(`The ${name} is already stored.`);
}

/** How many of the first items fit into a page: at most `count` items whose sizes add up to at most `total`. The first item always fits. */
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

/** The page of messages that a process reads when it loads a session. */
const RECENT: PageRequest = { count: 2000, bytes: 8 * 1024 * 1024 };

/**
 * Returns the newest page of a session's messages, preceded by the older messages whose ids are in `named`. `older` is the id of the first message of the page
 * if the session has messages before it, and null otherwise.
 */
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

/** The clock and the callbacks of a write that is retried while the store is unavailable. */
export interface Persistence {
  clock: Clock;
  /** Whether the write became pointless: another process owns the session, or the session was removed. */
  isOver: () => boolean;
  /** Called once, when the first attempt failed because the store is unavailable. */
  onWait: (error: StoreUnavailable) => void;
}

/**
 * Retries a write that must not be lost, such as that of a text that the user has already read: while the store is unavailable, waits with growing pauses and
 * writes again. Rejects with the error of the write when the error has another reason, such as a later owner, or when the write became pointless.
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

const ESCAPED = '\u001b';

/**
 * Converts a string to a form that every database can store. Databases cut a text at a NUL or refuse it, and do not store lone surrogates, so two different
 * ids could become equal. Such strings are written as JSON after a mark. Different strings stay different.
 */
export function toText(value: string): string {
  const safe = !value.startsWith(ESCAPED) && !value.includes('\0') && !/\p{Surrogate}/u.test(value);
  return safe ? value : ESCAPED + JSON.stringify(value);
}

/** Reads what `toText` wrote. */
export function fromText(text: string): string {
  return text.startsWith(ESCAPED) ? (JSON.parse(text.slice(ESCAPED.length)) as string) : text;
}

/** Converts a value to JSON. Throws a `StoreError` that names the value when that is impossible, so that a write fails before it begins. */
export function toJson(value: unknown, name: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new StoreError(`${name} cannot be written as JSON: ${String(cause)}`, { cause });
  }
  if (text === undefined) throw new StoreError(`${name} cannot be written as JSON: it is ${typeof value}`);
  return text;
}

/** Parses JSON that the store wrote. The type is not checked. */
export function fromJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** Reads the JSON of a state, into a record without prototype. */
export function stateFromJson(text: string): StateRecord {
  return applyDelta(emptyState(), fromJson<StateRecord>(text));
}

/** Copies a state delta to the form in which a store will return it, without `temp:` keys. The copy shares no object with the delta. */
export function asStored(delta: Record<string, unknown>): StateRecord {
  const stored = emptyState();
  if (!hasKeys(delta)) return stored;
  const written = fromJson<Record<string, unknown>>(toJson(delta, 'The state delta'));
  for (const name of Object.keys(delta)) {
    if (!name.startsWith(prefixes.temp))
      stored[name] = Object.hasOwn(written, name) ? written[name] : undefined;
  }
  return stored;
}

/** Converts an event to JSON, without the `temp:` keys of its state delta, which never outlive a turn. */
export function eventToJson(event: Event): string {
  const delta = event.actions?.stateDelta;
  if (delta === undefined || !Object.keys(delta).some((key) => key.startsWith(prefixes.temp))) {
    return toJson(event, 'The event');
  }
  const kept = emptyState();
  for (const [key, value] of Object.entries(delta)) if (!key.startsWith(prefixes.temp)) kept[key] = value;
  return toJson({ ...event, actions: { ...event.actions, stateDelta: kept } }, 'The event');
}

/** The ids of the calls that an event answers. */
export function answeredCalls(event: Event): string[] {
  const ids: string[] = [];
  for (const part of event.content?.parts ?? []) {
    const id = part.functionResponse?.id;
    if (id !== undefined) ids.push(id);
  }
  return ids;
}

/** ADK's prefixes of state keys. They are repeated here, because importing ADK only for them takes most of a second. */
export const prefixes = { app: 'app:', user: 'user:', temp: 'temp:' } as const;

/** A record without prototype, so that keys such as `__proto__` and `constructor` are keys like any other. */
export type StateRecord = Record<string, unknown>;

/** State by scope: shared by all sessions of the app, shared by all sessions of the user, or of this session only. */
export interface ScopedState {
  app: StateRecord;
  user: StateRecord;
  session: StateRecord;
}

/** An empty record without prototype. */
export function emptyState(): StateRecord {
  return Object.create(null) as StateRecord;
}

/** Splits state by ADK's prefixes, and removes the prefixes; `temp:` keys are left out. */
export function splitState(state: Record<string, unknown>): ScopedState {
  const scopes: ScopedState = { app: emptyState(), user: emptyState(), session: emptyState() };
  for (const [key, value] of Object.entries(state)) {
    if (key.startsWith(prefixes.temp)) continue;
    if (key.startsWith(prefixes.app)) scopes.app[key.slice(prefixes.app.length)] = value;
    else if (key.startsWith(prefixes.user)) scopes.user[key.slice(prefixes.user.length)] = value;
    else scopes.session[key] = value;
  }
  return scopes;
}

/** One record with ADK's prefixes: the state that a session sees. */
export function joinState(scopes: ScopedState): StateRecord {
  const state = applyDelta(emptyState(), scopes.session);
  for (const [key, value] of Object.entries(scopes.app)) state[prefixes.app + key] = value;
  for (const [key, value] of Object.entries(scopes.user)) state[prefixes.user + key] = value;
  return state;
}

/** Writes a delta into a state, and returns the state; a key set to undefined, which JSON cannot express, is removed. */
export function applyDelta(state: StateRecord, delta: Record<string, unknown>): StateRecord {
  for (const [key, value] of Object.entries(delta)) {
    if (value === undefined) delete state[key];
    else state[key] = value;
  }
  return state;
}

/** A deep copy of a state. */
export function copyOf(state: StateRecord): StateRecord {
  const copy = emptyState();
  for (const [key, value] of Object.entries(state)) {
    copy[key] = typeof value === 'object' ? structuredClone(value) : value;
  }
  return copy;
}

/** Throws a `StateConflict` that names the keys of the delta whose values have changed since the tool read them. */
export function checkUnchanged(
  delta: Record<string, unknown>,
  seen: Record<string, unknown>,
  current: Record<string, unknown>,
): void {
  const changed = Object.keys(delta).filter(
    (key) => !key.startsWith(prefixes.temp) && valueIn(seen, key) !== valueIn(current, key),
  );
  if (changed.length > 0)
    throw new StateConflict(`The state has changed since the tool read it: ${changed.join(', ')}`);
}

/** The JSON of a value of the state; undefined when the state does not have the key. */
function valueIn(state: Record<string, unknown>, key: string): string | undefined {
  return Object.hasOwn(state, key) ? JSON.stringify(state[key]) : undefined;
}

export function hasKeys(record: Record<string, unknown>): boolean {
  for (const _ in record) return true;
  return false;
}

/** A row of the table `sessions`. */
export interface SessionRow {
  n: number;
  fence: number;
  id: string;
  title: string | null;
  state: string;
  created_at: number;
  updated_at: number;
}

/** A row of the list of a user's sessions. */
export interface ListedRow extends SessionRow {
  is_waiting: number;
  has_failed: number | null;
}

/** A row of the table `calls`. */
export interface CallRow {
  id: string;
  approval_id: string | null;
  tool_name: string;
  args: string;
  args_hash: string;
  runs_on: 'server' | 'client';
  status: CallStatus;
  reason: string | null;
  message_id: string;
  agent: string;
  invocation_id: string;
  branch: string | null;
  issued_at: number;
  expires_at: number | null;
  question: string | null;
  answer: string | null;
  agents: string | null;
}

/** A row of the table `audit_lines`. */
export interface AuditRow {
  at: number;
  kind: AuditKind;
  session_id: string;
  user: string;
  approval_id: string | null;
  tool_call_id: string | null;
  tool_name: string | null;
  args_hash: string | null;
  args: string | null;
  reason: string | null;
  decided_by: string | null;
}

/** A row of the table `requests`. */
export interface RequestRow {
  request_id: string;
  message_id: string | null;
  parts: number;
}

/** Converts a row to an accepted request. */
export function requestOf({ request_id, message_id, parts }: RequestRow): AcceptedRequest {
  return { requestId: fromText(request_id), messageId: orNull(message_id, fromText), parts };
}

/** Converts a value that is not null. */
export function orNull<A, B>(value: A | null, make: (value: A) => B): B | null {
  return value === null ? null : make(value);
}

/** Converts a row to the summary of a session. */
export function summaryOf(row: SessionRow): SessionSummary {
  return {
    id: fromText(row.id),
    title: orNull(row.title, fromText),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Converts a row to an entry of the list of sessions. */
export function listedOf(row: ListedRow): ListedSession {
  return { ...summaryOf(row), isWaiting: row.is_waiting === 1, hasFailed: row.has_failed === 1 };
}

/** Converts a row to the record of a call. */
export function callOf(row: CallRow): CallRecord {
  return {
    id: fromText(row.id),
    approvalId: orNull(row.approval_id, fromText),
    toolName: fromText(row.tool_name),
    args: fromJson<Record<string, unknown>>(row.args),
    argsHash: fromText(row.args_hash),
    runsOn: row.runs_on,
    status: row.status,
    question: orNull(row.question, fromJson<Question>) ?? questionOf(row.approval_id),
    answer: orNull(row.answer, fromJson<unknown>),
    reason: orNull(row.reason, fromText),
    messageId: fromText(row.message_id),
    agent: fromText(row.agent),
    invocationId: fromText(row.invocation_id),
    branch: orNull(row.branch, fromText),
    ...(row.agents === null ? {} : { agents: fromJson<NonNullable<CallRecord['agents']>>(row.agents) }),
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
  };
}

/** The question of a call that an earlier version recorded. Such a call asked for approval if it has an approval id. */
function questionOf(approvalId: string | null): Question | null {
  return approvalId === null ? null : { kind: 'approve' };
}

/** Converts a row to a line of the audit log. */
export function auditLineOf(row: AuditRow): AuditLine {
  return {
    at: row.at,
    kind: row.kind,
    sessionId: fromText(row.session_id),
    user: fromText(row.user),
    approvalId: orNull(row.approval_id, fromText),
    toolCallId: orNull(row.tool_call_id, fromText),
    toolName: orNull(row.tool_name, fromText),
    argsHash: orNull(row.args_hash, fromText),
    args: orNull(row.args, (text) => fromJson<Record<string, unknown>>(text)),
    reason: orNull(row.reason, fromText),
    ...(row.decided_by !== null && { by: fromJson<DecidedBy>(fromText(row.decided_by)) }),
  };
}
