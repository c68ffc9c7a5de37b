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
import { auditTable } from './audit-lines.ts';
import { callTable } from './calls.ts';
import type { Database } from './database.ts';
import { documentTable } from './documents.ts';
import { fileTable } from './files.ts';
import { messageTable } from './messages.ts';
import { requestTable } from './requests.ts';
import { sessionTable } from './sessions.ts';
import { stateTables } from './states.ts';
import { waitingTable } from './waiting.ts';

/** The store on an open database with the newest schema: each call is one transaction. */
export class SqliteStore implements Store {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #releaseLock: () => void;
  readonly #tables: Tables;
  #closed = false;

  constructor(db: Database, releaseLock: () => void, now: () => number) {
    this.#db = db;
    this.#tables = tablesOf(db);
    this.#now = now;
    this.#releaseLock = releaseLock;
  }

  async createSession(key: SessionKey, state: Record<string, unknown>): Promise<StoredSession> {
    return this.#write(({ sessions, states }) => {
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
    return this.#read(({ sessions, states, events }) => {
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
    return this.#write(({ sessions }) => {
      const session = sessions.find(key);
      if (session === undefined) return null;
      return { app: key.app, user: key.user, id: key.id, fence: sessions.fence(session.n) };
    });
  }

  async findSession(key: SessionKey): Promise<SessionSummary | null> {
    return this.#read(({ sessions }) => {
      const session = sessions.find(key);
      return session === undefined ? null : summaryOf(session);
    });
  }

  async listSessions(app: string, user: string): Promise<ListedSession[]> {
    return this.#read(({ sessions }) => lastUsedFirst(sessions.ofUser(app, user, this.#now())));
  }

  async renameSession(key: SessionKey, title: string | null): Promise<boolean> {
    return this.#write(({ sessions }) => sessions.rename(key, title));
  }

  async deleteSession(key: SessionKey): Promise<boolean> {
    return this.#write(({ sessions, auditLines }) => {
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
    this.#write(({ states, events, calls, requests, sessions }) => {
      const session = this.#need(key);
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
    this.#write(({ messages, waiting, requests, sessions }) => {
      const { n } = this.#need(key);
      messages.put(n, message.id, toJson(message, 'The message'));
      if (message.role === 'assistant') waiting.answeredBy(n, message.id);
      if (accepted) requests.add(n, accepted);
      sessions.touch(n, this.#now());
    });
  }

  async loadMessages(key: SessionKey): Promise<Message[]> {
    return this.#read(({ sessions, messages }) => {
      const session = sessions.find(key);
      return session === undefined ? [] : messages.all(session.n);
    });
  }

  async loadPage(key: SessionKey, page: PageRequest): Promise<Page | null> {
    return this.#read(({ sessions, messages }) => {
      const session = sessions.find(key);
      if (session !== undefined) return messages.page(session.n, page);
      return page.before === undefined ? { messages: [], hasOlder: false } : null;
    });
  }

  async truncateMessages(key: OwnedKey, messageId: string): Promise<boolean> {
    return this.#write(({ messages, sessions }) => {
      const session = this.#findOwned(key);
      if (session === undefined || !messages.truncate(session.n, messageId)) return false;
      sessions.touch(session.n, this.#now());
      return true;
    });
  }

  async addWaiting(key: OwnedKey, added: WaitingMessage, accepted?: AcceptedRequest): Promise<void> {
    this.#write(({ waiting, requests, sessions }) => {
      const { n } = this.#need(key);
      waiting.put(n, added.message.id, toJson(added, 'The message'));
      if (accepted) requests.add(n, accepted);
      sessions.touch(n, this.#now());
    });
  }

  async waitingMessages(key: SessionKey): Promise<WaitingMessage[]> {
    return this.#read(({ sessions, waiting }) => {
      const session = sessions.find(key);
      return session === undefined ? [] : waiting.all(session.n);
    });
  }

  async issueCalls(key: OwnedKey, issued: CallRecord[]): Promise<void> {
    this.#write(({ calls, auditLines }) => {
      const { n } = this.#need(key);
      for (const call of issued) {
        calls.add(n, call);
        if (call.approvalId !== null) auditLines.add(key, this.#now(), issuedLine(call));
      }
    });
  }

  async openCalls(key: SessionKey): Promise<CallRecord[]> {
    return this.#read(({ sessions, calls }) => {
      const session = sessions.find(key);
      return session === undefined ? [] : calls.open(session.n);
    });
  }

  async findCall(key: SessionKey, id: { approvalId: string } | { id: string }): Promise<CallRecord | null> {
    return this.#read(({ sessions, calls }) => {
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
    return this.#writeToDisk(() => this.#move(key, this.#findOwned(key), move, line, accepted));
  }

  async decideCall(
    key: SessionKey,
    decision: Decision,
    line: AuditEntry,
    accepted?: AcceptedRequest,
  ): Promise<CallRecord | null> {
    return this.#writeToDisk(({ sessions }) =>
      this.#move(key, sessions.find(key), decisionMove(decision), line, accepted),
    );
  }

  async audit(key: SessionKey, line: AuditEntry): Promise<void> {
    this.#write(({ sessions, auditLines }) => {
      const args = sessions.find(key) === undefined ? null : line.args;
      auditLines.add(key, this.#now(), { ...line, args });
    });
  }

  async auditLog(key: SessionKey): Promise<AuditLine[]> {
    return this.#read(({ auditLines }) => auditLines.all(key));
  }

  async acceptRequest(key: OwnedKey, accepted: AcceptedRequest): Promise<void> {
    this.#write(({ requests }) => requests.add(this.#need(key).n, accepted));
  }

  async acceptedRequests(key: SessionKey): Promise<AcceptedRequest[]> {
    return this.#read(({ sessions, requests }) => {
      const session = sessions.find(key);
      return session === undefined ? [] : requests.all(session.n);
    });
  }

  async putFile(key: OwnedKey, id: string, file: { mediaType: string; bytes: Uint8Array }): Promise<void> {
    this.#write(({ files }) => files.put(this.#need(key).n, id, file));
  }

  async loadFile(key: SessionKey, id: string): Promise<{ mediaType: string; bytes: Uint8Array } | null> {
    return this.#read(({ sessions, files }) => {
      const session = sessions.find(key);
      return session === undefined ? null : files.find(session.n, id);
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // Statements that the garbage collector has not reached keep the driver's connection half open, so the log would
    // stay behind.
    this.#db.exec('pragma wal_checkpoint(truncate)');
    this.#db.close();
    this.#releaseLock();
  }

  #read<T>(work: (tables: Tables) => T): T {
    if (this.#closed) throw new StoreError('The store is closed.');
    return work(this.#tables);
  }

  #write<T>(work: (tables: Tables) => T): T {
    return this.#read((tables) => this.#db.transaction(() => work(tables)));
  }

  /**
   * A tool may act on the world right after such a write: were it lost in a power cut, the tool could act twice. So the
   * commit, and with it all before it, is on the disk before anyone hears of it.
   */
  #writeToDisk<T>(work: (tables: Tables) => T): T {
    return this.#read((tables) => {
      this.#db.exec('pragma synchronous = full');
      try {
        return this.#db.transaction(() => work(tables));
      } finally {
        this.#db.exec('pragma synchronous = normal');
      }
    });
  }

  /** The session, if whoever writes owns it. */
  #findOwned(key: OwnedKey): SessionRow | undefined {
    const session = this.#tables.sessions.find(key);
    if (session !== undefined) checkOwner(session, key);
    return session;
  }

  #need(key: OwnedKey): SessionRow {
    const session = this.#findOwned(key);
    if (session === undefined) throw noSuchSession(key);
    return session;
  }

  #move(
    key: SessionKey,
    session: SessionRow | undefined,
    move: CallMove,
    line: AuditEntry | null,
    accepted: AcceptedRequest | undefined,
  ): CallRecord | null {
    if (session === undefined) return null;
    const { calls, auditLines, requests } = this.#tables;
    const call = calls.move(session.n, move);
    if (call === null) return null;
    if (line !== null) auditLines.add(key, this.#now(), line);
    if (accepted) requests.add(session.n, accepted);
    return call;
  }
}

type Tables = ReturnType<typeof tablesOf>;

function tablesOf(db: Database) {
  return {
    sessions: sessionTable(db),
    states: stateTables(db),
    events: documentTable<Event>(db, 'events'),
    messages: messageTable(db),
    waiting: waitingTable(db),
    calls: callTable(db),
    auditLines: auditTable(db),
    requests: requestTable(db),
    files: fileTable(db),
  };
}
