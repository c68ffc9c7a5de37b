import type { Event } from '@google/adk';
import type { Message } from '../../protocol/index.ts';
import { answeredCalls, eventToJson, toJson } from '../store/json.ts';
import { type SessionRow, summaryOf } from '../store/rows.ts';
import { checkOwner, decisionMove, issuedLine, lastUsedFirst, noSuchSession } from '../store/rules.ts';
import {
  applyDelta,
  checkUnchanged,
  emptyState,
  hasKeys,
  type StateRecord,
  splitState,
} from '../store/state.ts';
import {
  type AcceptedRequest,
  type AuditEntry,
  type AuditLine,
  type CallMove,
  type CallRecord,
  type Decision,
  type ListedSession,
  type OwnedKey,
  type Page,
  type PageRequest,
  type SessionKey,
  type SessionSummary,
  type Store,
  type StoredSession,
  StoreError,
  type WaitingMessage,
} from '../store/store.ts';
import type { Database } from './database.ts';
import type { StoredFile } from './files.ts';
import { type Tables, Transactions } from './transactions.ts';

/** The store on an open database with the newest schema: each call is one transaction. */
export class SqliteStore implements Store {
  readonly #transactions: Transactions;
  readonly #now: () => number;
  readonly #releaseLock: () => void;

  constructor(db: Database, releaseLock: () => void, now: () => number) {
    this.#transactions = new Transactions(db);
    this.#now = now;
    this.#releaseLock = releaseLock;
  }

  async createSession(key: SessionKey, state: Record<string, unknown>): Promise<StoredSession> {
    return this.#transactions.write(({ sessions, states }) => {
      if (sessions.find(key) !== undefined) throw new StoreError(`The session ${key.id} exists.`);
      const at = this.#now();
      const delta = splitState(state);
      states.changeShared(key, delta);
      const own = toJson(applyDelta(emptyState(), delta.session), 'The session state');
      sessions.add(key, own, at);
      const summary = { id: key.id, title: null, createdAt: at, updatedAt: at };
      return { ...summary, state: states.seenBy(key, own), events: [] };
    });
  }

  async loadSession(key: SessionKey): Promise<StoredSession | null> {
    return this.#transactions.read(({ sessions, states, events }) => {
      const session = sessions.find(key);
      if (session === undefined) return null;
      return {
        ...summaryOf(session),
        state: states.seenBy(key, session.state),
        events: events.all(session.n),
      };
    });
  }

  async own(key: SessionKey): Promise<OwnedKey | null> {
    return this.#transactions.write(({ sessions }) => {
      const session = sessions.find(key);
      if (session === undefined) return null;
      return { app: key.app, user: key.user, id: key.id, fence: sessions.fence(session.n) };
    });
  }

  async findSession(key: SessionKey): Promise<SessionSummary | null> {
    return this.#transactions.read(({ sessions }) => {
      const session = sessions.find(key);
      return session === undefined ? null : summaryOf(session);
    });
  }

  async listSessions(app: string, user: string): Promise<ListedSession[]> {
    return this.#transactions.read(({ sessions }) => lastUsedFirst(sessions.ofUser(app, user, this.#now())));
  }

  async renameSession(key: SessionKey, title: string | null): Promise<boolean> {
    return this.#transactions.write(({ sessions }) => sessions.rename(key, title));
  }

  async deleteSession(key: SessionKey): Promise<boolean> {
    return this.#transactions.write(({ sessions, auditLines }) => {
      const session = sessions.find(key);
      if (session === undefined) return false;
      sessions.remove(session.n);
      auditLines.empty(key);
      return true;
    });
  }

  async appendEvent(
    key: OwnedKey,
    event: Event,
    seen?: StateRecord,
    accepted?: AcceptedRequest,
  ): Promise<void> {
    this.#transactions.write(({ states, events, calls, requests, sessions }) => {
      const session = needOwned(sessions, key);
      const delta = event.actions?.stateDelta ?? emptyState();
      if (seen && hasKeys(delta)) checkUnchanged(delta, seen, states.seenBy(key, session.state));
      events.put(session.n, event.id, eventToJson(event));
      if (hasKeys(delta)) states.change(key, session, delta);
      for (const id of answeredCalls(event)) calls.settle(session.n, id);
      if (accepted) requests.add(session.n, accepted);
      sessions.touch(session.n, this.#now());
    });
  }

  async putMessage(key: OwnedKey, message: Message, accepted?: AcceptedRequest): Promise<void> {
    this.#transactions.write(({ messages, waiting, requests, sessions }) => {
      const { n } = needOwned(sessions, key);
      messages.put(n, message.id, toJson(message, 'The message'));
      if (message.role === 'assistant') waiting.answeredBy(n, message.id);
      if (accepted) requests.add(n, accepted);
      sessions.touch(n, this.#now());
    });
  }

  async loadMessages(key: SessionKey): Promise<Message[]> {
    return this.#transactions.read(({ sessions, messages }) => {
      const session = sessions.find(key);
      return session === undefined ? [] : messages.all(session.n);
    });
  }

  async loadPage(key: SessionKey, page: PageRequest): Promise<Page | null> {
    return this.#transactions.read(({ sessions, messages }) => {
      const session = sessions.find(key);
      if (session !== undefined) return messages.page(session.n, page);
      return page.before === undefined ? { messages: [], hasOlder: false } : null;
    });
  }

  async truncateMessages(key: OwnedKey, messageId: string): Promise<boolean> {
    return this.#transactions.write(({ messages, sessions }) => {
      const session = findOwned(sessions, key);
      if (session === undefined || !messages.truncate(session.n, messageId)) return false;
      sessions.touch(session.n, this.#now());
      return true;
    });
  }

  async addWaiting(key: OwnedKey, added: WaitingMessage, accepted?: AcceptedRequest): Promise<void> {
    this.#transactions.write(({ waiting, requests, sessions }) => {
      const { n } = needOwned(sessions, key);
      waiting.put(n, added.message.id, toJson(added, 'The message'));
      if (accepted) requests.add(n, accepted);
      sessions.touch(n, this.#now());
    });
  }

  async waitingMessages(key: SessionKey): Promise<WaitingMessage[]> {
    return this.#transactions.read(({ sessions, waiting }) => {
      const session = sessions.find(key);
      return session === undefined ? [] : waiting.all(session.n);
    });
  }

  async issueCalls(key: OwnedKey, issued: CallRecord[]): Promise<void> {
    this.#transactions.write(({ sessions, calls, auditLines }) => {
      const { n } = needOwned(sessions, key);
      for (const call of issued) {
        calls.add(n, call);
        if (call.approvalId !== null) auditLines.add(key, this.#now(), issuedLine(call));
      }
    });
  }

  async openCalls(key: SessionKey): Promise<CallRecord[]> {
    return this.#transactions.read(({ sessions, calls }) => {
      const session = sessions.find(key);
      return session === undefined ? [] : calls.open(session.n);
    });
  }

  async findCall(key: SessionKey, id: { approvalId: string } | { id: string }): Promise<CallRecord | null> {
    return this.#transactions.read(({ sessions, calls }) => {
      const session = sessions.find(key);
      return session === undefined ? null : calls.find(session.n, id);
    });
  }

  async moveCall(
    key: OwnedKey,
    move: CallMove,
    line: AuditEntry | null,
    accepted?: AcceptedRequest,
  ): Promise<CallRecord | null> {
    return this.#transactions.writeToDisk((tables) =>
      this.#move(tables, key, findOwned(tables.sessions, key), move, line, accepted),
    );
  }

  async decideCall(
    key: SessionKey,
    decision: Decision,
    line: AuditEntry,
    accepted?: AcceptedRequest,
  ): Promise<CallRecord | null> {
    return this.#transactions.writeToDisk((tables) =>
      this.#move(tables, key, tables.sessions.find(key), decisionMove(decision), line, accepted),
    );
  }

  async audit(key: SessionKey, line: AuditEntry): Promise<void> {
    this.#transactions.write(({ sessions, auditLines }) => {
      const args = sessions.find(key) === undefined ? null : line.args;
      auditLines.add(key, this.#now(), { ...line, args });
    });
  }

  async auditLog(key: SessionKey): Promise<AuditLine[]> {
    return this.#transactions.read(({ auditLines }) => auditLines.all(key));
  }

  async acceptRequest(key: OwnedKey, accepted: AcceptedRequest): Promise<void> {
    this.#transactions.write(({ sessions, requests }) => requests.add(needOwned(sessions, key).n, accepted));
  }

  async acceptedRequests(key: SessionKey): Promise<AcceptedRequest[]> {
    return this.#transactions.read(({ sessions, requests }) => {
      const session = sessions.find(key);
      return session === undefined ? [] : requests.all(session.n);
    });
  }

  async putFile(key: OwnedKey, id: string, file: StoredFile): Promise<void> {
    this.#transactions.write(({ sessions, files }) => files.put(needOwned(sessions, key).n, id, file));
  }

  async loadFile(key: SessionKey, id: string): Promise<StoredFile | null> {
    return this.#transactions.read(({ sessions, files }) => {
      const session = sessions.find(key);
      return session === undefined ? null : files.find(session.n, id);
    });
  }

  async close(): Promise<void> {
    if (this.#transactions.close()) this.#releaseLock();
  }

  #move(
    { calls, auditLines, requests }: Tables,
    key: SessionKey,
    session: SessionRow | undefined,
    move: CallMove,
    line: AuditEntry | null,
    accepted: AcceptedRequest | undefined,
  ): CallRecord | null {
    if (session === undefined) return null;
    const call = calls.move(session.n, move);
    if (call === null) return null;
    if (line !== null) auditLines.add(key, this.#now(), line);
    if (accepted) requests.add(session.n, accepted);
    return call;
  }
}

/** The session, if whoever writes owns it. */
function findOwned(sessions: Tables['sessions'], key: OwnedKey): SessionRow | undefined {
  const session = sessions.find(key);
  if (session !== undefined) checkOwner(session, key);
  return session;
}

function needOwned(sessions: Tables['sessions'], key: OwnedKey): SessionRow {
  const session = findOwned(sessions, key);
  if (session === undefined) throw noSuchSession(key);
  return session;
}
