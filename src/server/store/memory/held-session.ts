import type { Message } from '../../../protocol/index.ts';
import {
  applyDelta,
  fitting,
  fromJson,
  hasKeys,
  joinState,
  nameOf,
  recordedAlready,
  type ScopedState,
  type StateRecord,
  splitState,
  stateFromJson,
  toJson,
} from '../rules.ts';
import {
  type AcceptedRequest,
  type AuditEntry,
  type AuditLine,
  type AuditPage,
  type AuditPageRequest,
  type CallMove,
  type CallRecord,
  type ListedSession,
  MAX_REQUESTS,
  type Page,
  type PageRequest,
  type SessionKey,
  type SessionSummary,
  type WaitingMessage,
} from '../store.ts';

import { HeldArtifacts } from './held-artifacts.ts';

/** One session in memory, with everything that belongs to it. */
export class HeldSession {
  /** The number of the session in its store. */
  readonly n: number;
  readonly id: string;
  readonly createdAt: number;
  fence = 0;
  title: string | null = null;
  updatedAt: number;
  /** The session's own state as JSON. */
  state: string;
  readonly events = new Map<string, string>();
  readonly messages = new HeldMessages();
  readonly calls = new HeldCalls();
  readonly requests = new HeldRequests();
  readonly artifacts = new HeldArtifacts();
  readonly files = new Map<string, { mediaType: string; bytes: Uint8Array }>();

  constructor(n: number, id: string, state: string, createdAt: number) {
    this.n = n;
    this.id = id;
    this.state = state;
    this.createdAt = createdAt;
    this.updatedAt = createdAt;
  }

  summary(): SessionSummary {
    const { id, title, createdAt, updatedAt } = this;
    return { id, title, createdAt, updatedAt };
  }

  /** Whether the session has a title or a message. */
  get isUsed(): boolean {
    return this.title !== null || this.messages.size > 0;
  }

  /** Bytes of events, messages, files and artifacts. */
  get bytes(): number {
    let bytes = this.messages.bytes + this.artifacts.bytes;
    for (const text of this.events.values()) bytes += Buffer.byteLength(text);
    for (const file of this.files.values()) bytes += file.bytes.byteLength;
    return bytes;
  }

  listed(now: number): ListedSession {
    const isWaiting = this.calls
      .all()
      .some(({ status, expiresAt }) => status === 'requested' && (expiresAt === null || expiresAt > now));
    const metadata = this.messages.last()?.metadata;
    const hasFailed = metadata?.failed === true || metadata?.cutOff === true;
    return { ...this.summary(), isWaiting, hasFailed };
  }
}

/** The recorded tool calls of one session. */
class HeldCalls {
  readonly #calls = new Map<string, string>();
  /** The id of each call, by its approval id. */
  readonly #approvals = new Map<string, string>();

  /** Prepares the records of calls. Throws when a call or an approval is recorded already. The returned function performs the write, which cannot fail. */
  prepare(calls: readonly CallRecord[]): () => void {
    const texts = new Map<string, string>();
    const approvals = new Map<string, string>();
    for (const call of calls) {
      const { id, approvalId } = call;
      if (texts.has(id) || this.#calls.has(id)) throw recordedAlready(`call ${id}`);
      texts.set(id, toJson(call, 'The call'));
      if (approvalId === null) continue;
      if (approvals.has(approvalId) || this.#approvals.has(approvalId)) {
        throw recordedAlready(`approval ${approvalId}`);
      }
      approvals.set(approvalId, id);
    }
    return () => {
      for (const [id, text] of texts) this.#calls.set(id, text);
      for (const [approvalId, id] of approvals) this.#approvals.set(approvalId, id);
    };
  }

  all(): CallRecord[] {
    return [...this.#calls.values()].map((text) => fromJson<CallRecord>(text));
  }

  find(id: { approvalId: string } | { id: string }): CallRecord | null {
    const callId = 'id' in id ? id.id : this.#approvals.get(id.approvalId);
    const text = callId === undefined ? undefined : this.#calls.get(callId);
    return text === undefined ? null : fromJson<CallRecord>(text);
  }

  /** Returns the call as it is after a move, without writing it; null when the call does not have the status `from`. */
  moved({ id, from, to, reason, expiresAt, answer, asks }: CallMove): CallRecord | null {
    const call = this.find({ id });
    if (call === null || call.status !== from) return null;
    call.status = to;
    if (reason !== undefined) call.reason = reason;
    if (expiresAt !== undefined) call.expiresAt = expiresAt;
    if (answer !== undefined) call.answer = answer;
    if (asks !== undefined) Object.assign(call, asks);
    return call;
  }

  put(call: CallRecord): void {
    if (call.approvalId !== null) this.#approvals.set(call.approvalId, call.id);
    this.#calls.set(call.id, toJson(call, 'The call'));
  }

  settle(id: string): void {
    const call = this.find({ id });
    if (call !== null) this.put({ ...call, status: 'settled' });
  }
}

/** The messages of one session, and its queued messages. */
class HeldMessages {
  readonly #messages = new Map<string, string>();
  readonly #waiting = new Map<string, string>();

  put(message: Message): void {
    this.#messages.set(message.id, toJson(message, 'The message'));
    if (message.role === 'assistant') this.#answerBefore(message.id);
  }

  all(): Message[] {
    return [...this.#messages.values()].map((text) => fromJson<Message>(text));
  }

  find(id: string): Message | null {
    const text = this.#messages.get(id);
    return text === undefined ? null : fromJson<Message>(text);
  }

  get size(): number {
    return this.#messages.size;
  }

  get bytes(): number {
    let bytes = 0;
    for (const text of this.#messages.values()) bytes += Buffer.byteLength(text);
    return bytes;
  }

  last(): Message | undefined {
    const text = [...this.#messages.values()].at(-1);
    return text === undefined ? undefined : fromJson<Message>(text);
  }

  page({ before, count, bytes }: PageRequest): Page | null {
    const messages = [...this.#messages];
    const end = before === undefined ? messages.length : messages.findIndex(([id]) => id === before);
    if (end === -1) return null;
    const sizes = messages.slice(0, end).map(([, text]) => Buffer.byteLength(text));
    const start = end - fitting(sizes.reverse(), count, bytes);
    return {
      messages: messages.slice(start, end).map(([, text]) => fromJson<Message>(text)),
      hasOlder: start > 0,
    };
  }

  /** Removes a message and all after it; false when the session does not have it. */
  truncate(id: string): boolean {
    const ids = [...this.#messages.keys()];
    const from = ids.indexOf(id);
    if (from === -1) return false;
    for (const removed of ids.slice(from)) this.#messages.delete(removed);
    return true;
  }

  addWaiting(waiting: WaitingMessage): void {
    this.#waiting.set(waiting.message.id, toJson(waiting, 'The message'));
  }

  waiting(): WaitingMessage[] {
    return [...this.#waiting.values()].map((text) => fromJson<WaitingMessage>(text));
  }

  /** Removes from the queue the user messages that come before this message of the agent. */
  #answerBefore(answer: string): void {
    if (this.#waiting.size === 0) return;
    for (const id of this.#messages.keys()) {
      if (id === answer) return;
      this.#waiting.delete(id);
    }
  }
}

/** The newest accepted requests of one session. */
class HeldRequests {
  readonly #requests = new Map<string, AcceptedRequest>();

  add(accepted: AcceptedRequest): void {
    this.#requests.delete(accepted.requestId);
    this.#requests.set(accepted.requestId, { ...accepted });
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > MAX_REQUESTS && oldest !== undefined) this.#requests.delete(oldest);
  }

  all(): AcceptedRequest[] {
    return [...this.#requests.values()].map((accepted) => ({ ...accepted }));
  }
}

/** The state that all sessions of an app share, and the state that all sessions of a user share. `HeldSession` has the session's own state. */
export class States {
  readonly #apps = new Map<string, string>();
  readonly #users = new Map<string, string>();

  /** The state that a session sees; `own` is its own state as JSON. */
  seenBy(key: SessionKey, own: string): StateRecord {
    return joinState(this.#scopesOf(key, own));
  }

  /** Does everything that can fail. The returned function performs the write, and returns the session's own state. */
  prepare(key: SessionKey, own: string, change: Record<string, unknown>): () => string {
    const delta = splitState(change);
    const current = this.#scopesOf(key, own);
    const next = {
      app: toJson(applyDelta(current.app, delta.app), 'The app state'),
      user: toJson(applyDelta(current.user, delta.user), 'The user state'),
      session: toJson(applyDelta(current.session, delta.session), 'The session state'),
    };
    return () => {
      if (hasKeys(delta.app)) this.#apps.set(key.app, next.app);
      if (hasKeys(delta.user)) this.#users.set(userName(key.app, key.user), next.user);
      return next.session;
    };
  }

  #scopesOf(key: SessionKey, own: string): ScopedState {
    return {
      app: stateFromJson(this.#apps.get(key.app) ?? '{}'),
      user: stateFromJson(this.#users.get(userName(key.app, key.user)) ?? '{}'),
      session: stateFromJson(own),
    };
  }
}

/** The app and the user as one text. Different pairs have different texts, whatever characters they contain. */
export function userName(app: string, user: string): string {
  return JSON.stringify([app, user]);
}

interface NumberedLine {
  n: number;
  text: string;
}

/** The audit lines of all sessions, deleted sessions included. */
export class AuditLog {
  /** The lines of each session as JSON, with their numbers in ascending order. */
  readonly #lines = new Map<string, NumberedLine[]>();
  #last = 0;

  /** Does everything that can fail. The returned function performs the write. */
  prepare(key: SessionKey, at: number, entry: AuditEntry): () => void {
    const line: AuditLine = {
      at,
      kind: entry.kind,
      sessionId: key.id,
      user: key.user,
      approvalId: entry.approvalId,
      toolCallId: entry.toolCallId,
      toolName: entry.toolName,
      argsHash: entry.argsHash,
      args: entry.args,
      reason: entry.reason,
      ...(entry.by && { by: entry.by }),
    };
    const text = toJson(line, 'The audit line');
    return () => {
      const numbered = { n: ++this.#last, text };
      const lines = this.#lines.get(nameOf(key));
      if (lines === undefined) this.#lines.set(nameOf(key), [numbered]);
      else lines.push(numbered);
    };
  }

  page(key: SessionKey, { before = Number.POSITIVE_INFINITY, count, bytes }: AuditPageRequest): AuditPage {
    const lines = this.#lines.get(nameOf(key)) ?? [];
    const end = lines.findLastIndex(({ n }) => n < before) + 1;
    const newest = lines.slice(Math.max(0, end - count), end).map(({ text }) => text.length);
    const start = end - fitting(newest.reverse(), count, bytes);
    return {
      lines: lines.slice(start, end).map(({ text }) => fromJson<AuditLine>(text)),
      older: start > 0 ? (lines[start]?.n ?? null) : null,
    };
  }

  /** For a deleted session: removes the arguments and reasons from its lines, and deletes lines about refused answers that belonged to no call. */
  empty(key: SessionKey): void {
    const lines: NumberedLine[] = [];
    for (const { n, text } of this.#lines.get(nameOf(key)) ?? []) {
      const line = fromJson<AuditLine>(text);
      if (line.kind === 'refused' && line.toolName === null) continue;
      lines.push({ n, text: toJson({ ...line, args: null, reason: null }, 'The audit line') });
    }
    if (lines.length > 0) this.#lines.set(nameOf(key), lines);
    else this.#lines.delete(nameOf(key));
  }
}
