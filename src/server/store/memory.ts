import type { Event } from '@google/adk';
import type { Message } from '../../protocol/index.ts';
import { answeredCalls, eventToJson, fromJson, stateFromJson, toJson } from './json.ts';
import {
  checkOwner,
  decisionMove,
  fitting,
  issuedLine,
  lastUsedFirst,
  nameOf,
  noSuchSession,
  recordedAlready,
} from './rules.ts';
import {
  applyDelta,
  checkUnchanged,
  emptyState,
  hasKeys,
  joinState,
  type ScopedState,
  splitState,
} from './state.ts';
import {
  type AcceptedRequest,
  type AuditEntry,
  type AuditLine,
  type CallMove,
  type CallRecord,
  type ListedSession,
  MAX_REQUESTS,
  type OwnedKey,
  type Page,
  type SessionKey,
  type SessionSummary,
  type Store,
  type StoredSession,
  StoreError,
  type WaitingMessage,
} from './store.ts';

interface HeldSession {
  fence: number;
  title: string | null;
  createdAt: number;
  updatedAt: number;
  /** JSON, here and below: what comes out is what a file would give back, and no caller shares an object with us. */
  state: string;
  events: Map<string, string>;
  messages: Map<string, string>;
  calls: Map<string, string>;
  /** Call id by approval id. */
  approvals: Map<string, string>;
  files: Map<string, { mediaType: string; bytes: Uint8Array }>;
  requests: Map<string, AcceptedRequest>;
  waiting: Map<string, string>;
}

/** A store that lives as long as the process: for tests and for conversations nobody needs to keep. */
export function createMemoryStore(options: { now?: () => number } = {}): Store {
  const now = options.now ?? Date.now;
  const sessions = new Map<string, Map<string, HeldSession>>();
  const appStates = new Map<string, string>();
  const userStates = new Map<string, string>();
  const auditLines = new Map<string, string[]>();
  let lastFence = 0;
  let closed = false;

  const assertOpen = (): void => {
    if (closed) throw new StoreError('The store is closed.');
  };
  const find = (key: SessionKey): HeldSession | undefined => {
    assertOpen();
    return sessions.get(ownerOf(key.app, key.user))?.get(key.id);
  };
  /** The session, if whoever writes owns it. */
  const findOwned = (key: OwnedKey): HeldSession | undefined => {
    const session = find(key);
    if (session !== undefined) checkOwner(session, key);
    return session;
  };
  const need = (key: OwnedKey): HeldSession => {
    const session = findOwned(key);
    if (session === undefined) throw noSuchSession(key);
    return session;
  };
  const stateOf = (key: SessionKey, session: string): ScopedState => ({
    app: stateFromJson(appStates.get(key.app) ?? '{}'),
    user: stateFromJson(userStates.get(ownerOf(key.app, key.user)) ?? '{}'),
    session: stateFromJson(session),
  });
  /** Everything that can fail is done before the returned function writes. */
  const prepareState = (key: SessionKey, session: string, delta: ScopedState): (() => string) => {
    const current = stateOf(key, session);
    const next = {
      app: toJson(applyDelta(current.app, delta.app), 'The app state'),
      user: toJson(applyDelta(current.user, delta.user), 'The user state'),
      session: toJson(applyDelta(current.session, delta.session), 'The session state'),
    };
    return () => {
      if (hasKeys(delta.app)) appStates.set(key.app, next.app);
      if (hasKeys(delta.user)) userStates.set(ownerOf(key.app, key.user), next.user);
      return next.session;
    };
  };
  const prepareLine = (key: SessionKey, entry: AuditEntry): (() => void) => {
    const line: AuditLine = {
      at: now(),
      kind: entry.kind,
      sessionId: key.id,
      user: key.user,
      approvalId: entry.approvalId,
      toolCallId: entry.toolCallId,
      toolName: entry.toolName,
      argsHash: entry.argsHash,
      args: find(key) === undefined ? null : entry.args,
      reason: entry.reason,
    };
    const text = toJson(line, 'The audit line');
    return () => {
      const lines = auditLines.get(nameOf(key));
      if (lines === undefined) auditLines.set(nameOf(key), [text]);
      else lines.push(text);
    };
  };

  const move = (
    key: SessionKey,
    session: HeldSession | undefined,
    move: CallMove,
    line: AuditEntry | null,
    accepted: AcceptedRequest | undefined,
  ): CallRecord | null => {
    const text = session?.calls.get(move.id);
    if (session === undefined || text === undefined) return null;
    const call = fromJson<CallRecord>(text);
    if (call.status !== move.from) return null;
    call.status = move.to;
    if (move.reason !== undefined) call.reason = move.reason;
    if (move.expiresAt !== undefined) call.expiresAt = move.expiresAt;
    const writeLine = line === null ? null : prepareLine(key, line);
    session.calls.set(move.id, toJson(call, 'The call'));
    writeLine?.();
    if (accepted) keepRequest(session, accepted);
    return call;
  };

  return {
    async createSession(key, state): Promise<StoredSession> {
      if (find(key) !== undefined) throw new StoreError(`The session ${key.id} exists.`);
      const at = now();
      const writeState = prepareState(key, '{}', splitState(state));
      const session: HeldSession = {
        fence: 0,
        title: null,
        createdAt: at,
        updatedAt: at,
        state: writeState(),
        events: new Map(),
        messages: new Map(),
        calls: new Map(),
        approvals: new Map(),
        files: new Map(),
        requests: new Map(),
        waiting: new Map(),
      };
      const owner = ownerOf(key.app, key.user);
      const owned = sessions.get(owner);
      if (owned === undefined) sessions.set(owner, new Map([[key.id, session]]));
      else owned.set(key.id, session);
      return { ...summaryOf(key.id, session), state: joinState(stateOf(key, session.state)), events: [] };
    },

    async loadSession(key): Promise<StoredSession | null> {
      const session = find(key);
      if (session === undefined) return null;
      return {
        ...summaryOf(key.id, session),
        state: joinState(stateOf(key, session.state)),
        events: [...session.events.values()].map((text) => fromJson<Event>(text)),
      };
    },

    async own(key): Promise<OwnedKey | null> {
      const session = find(key);
      if (session === undefined) return null;
      session.fence = ++lastFence;
      return { app: key.app, user: key.user, id: key.id, fence: session.fence };
    },

    async findSession(key): Promise<SessionSummary | null> {
      const session = find(key);
      return session === undefined ? null : summaryOf(key.id, session);
    },

    async listSessions(app, user): Promise<ListedSession[]> {
      assertOpen();
      const owned = sessions.get(ownerOf(app, user)) ?? new Map<string, HeldSession>();
      return lastUsedFirst([...owned].map(([id, session]) => listedOf(id, session, now())));
    },

    async renameSession(key, title): Promise<boolean> {
      const session = find(key);
      if (session === undefined) return false;
      session.title = title;
      return true;
    },

    async deleteSession(key): Promise<boolean> {
      if (find(key) === undefined) return false;
      const owner = ownerOf(key.app, key.user);
      const owned = sessions.get(owner);
      owned?.delete(key.id);
      if (owned?.size === 0) sessions.delete(owner);
      const lines = auditLines.get(nameOf(key));
      if (lines !== undefined) {
        auditLines.set(
          nameOf(key),
          lines.map((line) =>
            toJson({ ...fromJson<AuditLine>(line), args: null, reason: null }, 'The audit line'),
          ),
        );
      }
      return true;
    },

    async appendEvent(key, event, seen, accepted): Promise<void> {
      const session = need(key);
      const text = eventToJson(event);
      const delta = event.actions?.stateDelta ?? emptyState();
      if (seen && hasKeys(delta)) checkUnchanged(delta, seen, joinState(stateOf(key, session.state)));
      const writeState = hasKeys(delta) ? prepareState(key, session.state, splitState(delta)) : null;
      session.events.set(event.id, text);
      if (writeState !== null) session.state = writeState();
      for (const id of answeredCalls(event)) {
        const call = session.calls.get(id);
        if (call !== undefined) {
          session.calls.set(id, toJson({ ...fromJson<CallRecord>(call), status: 'settled' }, 'The call'));
        }
      }
      if (accepted) keepRequest(session, accepted);
      session.updatedAt = now();
    },

    async putMessage(key, message, accepted): Promise<void> {
      const session = need(key);
      session.messages.set(message.id, toJson(message, 'The message'));
      answerWaiting(session, message);
      if (accepted) keepRequest(session, accepted);
      session.updatedAt = now();
    },

    async loadMessages(key): Promise<Message[]> {
      return [...(find(key)?.messages.values() ?? [])].map((text) => fromJson<Message>(text));
    },

    async loadPage(key, { before, count, bytes }): Promise<Page | null> {
      const messages = [...(find(key)?.messages ?? [])];
      const end = before === undefined ? messages.length : messages.findIndex(([id]) => id === before);
      if (end === -1) return null;
      const sizes = messages.slice(0, end).map(([, text]) => Buffer.byteLength(text));
      const start = end - fitting(sizes.reverse(), count, bytes);
      return {
        messages: messages.slice(start, end).map(([, text]) => fromJson<Message>(text)),
        hasOlder: start > 0,
      };
    },

    async truncateMessages(key, messageId): Promise<boolean> {
      const session = findOwned(key);
      if (!session?.messages.has(messageId)) return false;
      const ids = [...session.messages.keys()];
      for (const id of ids.slice(ids.indexOf(messageId))) session.messages.delete(id);
      session.updatedAt = now();
      return true;
    },

    async addWaiting(key, waiting, accepted): Promise<void> {
      const session = need(key);
      session.waiting.set(waiting.message.id, toJson(waiting, 'The message'));
      if (accepted) keepRequest(session, accepted);
      session.updatedAt = now();
    },

    async waitingMessages(key): Promise<WaitingMessage[]> {
      return [...(find(key)?.waiting.values() ?? [])].map((text) => fromJson<WaitingMessage>(text));
    },

    async dropWaiting(key, messageId): Promise<boolean> {
      return findOwned(key)?.waiting.delete(messageId) ?? false;
    },

    async issueCalls(key, calls): Promise<void> {
      const session = need(key);
      const ids = new Set<string>();
      const approvalIds = new Set<string>();
      const writes = calls.map((call) => {
        if (ids.has(call.id) || session.calls.has(call.id)) throw recordedAlready(`call ${call.id}`);
        ids.add(call.id);
        const text = toJson(call, 'The call');
        if (call.approvalId === null) return () => session.calls.set(call.id, text);
        const { approvalId } = call;
        if (approvalIds.has(approvalId) || session.approvals.has(approvalId)) {
          throw recordedAlready(`approval ${approvalId}`);
        }
        approvalIds.add(approvalId);
        const writeLine = prepareLine(key, issuedLine(call));
        return () => {
          session.calls.set(call.id, text);
          session.approvals.set(approvalId, call.id);
          writeLine();
        };
      });
      for (const write of writes) write();
    },

    async openCalls(key): Promise<CallRecord[]> {
      const calls = [...(find(key)?.calls.values() ?? [])].map((text) => fromJson<CallRecord>(text));
      return calls.filter((call) => call.status !== 'settled');
    },

    async findCall(key, id): Promise<CallRecord | null> {
      const session = find(key);
      const callId = 'id' in id ? id.id : session?.approvals.get(id.approvalId);
      const text = callId === undefined ? undefined : session?.calls.get(callId);
      return text === undefined ? null : fromJson<CallRecord>(text);
    },

    async moveCall(key, change, line, accepted): Promise<CallRecord | null> {
      return move(key, findOwned(key), change, line, accepted);
    },

    async decideCall(key, decision, line, accepted): Promise<CallRecord | null> {
      return move(key, find(key), decisionMove(decision), line, accepted);
    },

    async audit(key, line): Promise<void> {
      prepareLine(key, line)();
    },

    async auditLog(key): Promise<AuditLine[]> {
      assertOpen();
      return (auditLines.get(nameOf(key)) ?? []).map((text) => fromJson<AuditLine>(text));
    },

    async acceptRequest(key, accepted): Promise<void> {
      keepRequest(need(key), accepted);
    },

    async acceptedRequests(key): Promise<AcceptedRequest[]> {
      return [...(find(key)?.requests.values() ?? [])].map((accepted) => ({ ...accepted }));
    },

    async putFile(key, id, file): Promise<void> {
      need(key).files.set(id, { mediaType: file.mediaType, bytes: Uint8Array.from(file.bytes) });
    },

    async loadFile(key, id): Promise<{ mediaType: string; bytes: Uint8Array } | null> {
      const file = find(key)?.files.get(id);
      return file === undefined ? null : { mediaType: file.mediaType, bytes: Uint8Array.from(file.bytes) };
    },

    async close(): Promise<void> {
      closed = true;
    },
  };
}

/** What stands before a message of the agent is being answered. */
function answerWaiting({ messages, waiting }: HeldSession, answer: Message): void {
  if (waiting.size === 0 || answer.role !== 'assistant') return;
  for (const id of messages.keys()) {
    if (id === answer.id) return;
    waiting.delete(id);
  }
}

function keepRequest({ requests }: HeldSession, accepted: AcceptedRequest): void {
  requests.delete(accepted.requestId);
  requests.set(accepted.requestId, { ...accepted });
  const [oldest] = requests.keys();
  if (requests.size > MAX_REQUESTS && oldest !== undefined) requests.delete(oldest);
}

/** JSON keeps the parts of a key apart whatever they contain. */
function ownerOf(app: string, user: string): string {
  return JSON.stringify([app, user]);
}

function summaryOf(id: string, session: HeldSession): SessionSummary {
  return { id, title: session.title, createdAt: session.createdAt, updatedAt: session.updatedAt };
}

function listedOf(id: string, session: HeldSession, now: number): ListedSession {
  const isWaiting = [...session.calls.values()]
    .map((text) => fromJson<CallRecord>(text))
    .some(({ status, expiresAt }) => status === 'requested' && (expiresAt === null || expiresAt > now));
  const last = [...session.messages.values()].at(-1);
  const { metadata } = last === undefined ? {} : fromJson<Partial<Message>>(last);
  const hasFailed = metadata?.failed === true || metadata?.cutOff === true;
  return { ...summaryOf(id, session), isWaiting, hasFailed };
}
