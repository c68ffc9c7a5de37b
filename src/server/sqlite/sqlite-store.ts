import { setImmediate } from 'node:timers/promises';
import type { Event } from '@google/adk';
import type { Message } from '../../protocol/index.ts';
import {
  answeredCalls,
  applyDelta,
  checkUnchanged,
  decisionMove,
  emptyState,
  eventToJson,
  hasKeys,
  isQuestion,
  issuedLine,
  noSuchSession,
  type StateRecord,
  splitState,
  summaryOf,
  toJson,
} from '../store/rules.ts';
import {
  type AcceptedRequest,
  type AllSessionsPage,
  type AllSessionsRequest,
  type ArtifactContent,
  type ArtifactInfo,
  type ArtifactStore,
  type AuditEntry,
  type AuditPage,
  type AuditPageRequest,
  type CallMove,
  type CallRecord,
  type ClaimedEvents,
  type ClaimRequest,
  type Decision,
  type EventRequest,
  type FoundCall,
  type HistoryLimits,
  type ListedSession,
  type ListRequest,
  type OutboxEvent,
  type OutboxStore,
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
import { sqliteArtifacts } from './artifacts.ts';
import type { Database } from './database.ts';
import { sqliteOutbox } from './outbox.ts';
import type { RemovedSession, StoredFile } from './sessions.ts';
import { type Tables, Transactions } from './transactions.ts';

/** When the store is opened, it removes sessions without title and content that were not used for this long. */
const BLANK_MS = 24 * 3600_000;

/** A move of a call, and the audit line, the accepted request and the outbox events that are stored with it. */
interface Move {
  move: CallMove;
  line: AuditEntry | null;
  accepted: AcceptedRequest | undefined;
  kept: readonly OutboxEvent[] | undefined;
}

/** The store on an open database with the newest schema. Each method is one transaction, except `deleteSession`. */
export class SqliteStore implements Store {
  readonly #transactions: Transactions;
  readonly #artifacts: ArtifactStore;
  readonly #outbox: OutboxStore;
  readonly #now: () => number;
  readonly #releaseLock: () => void;

  constructor(db: Database, releaseLock: () => void, now: () => number) {
    this.#transactions = new Transactions(db);
    this.#artifacts = sqliteArtifacts(this.#transactions);
    this.#outbox = sqliteOutbox(this.#transactions, now);
    this.#now = now;
    this.#releaseLock = releaseLock;
  }

  /** Continues removals that a process had started before it ended. */
  removeHidden(): void {
    const hidden = this.#transactions.read(({ sessions }) => sessions.hidden());
    for (const one of hidden) Array.from(this.#removePieces(one));
  }

  /** Removes sessions without title and content that were not used for a day. A running server removes such sessions itself; one that died could not. */
  removeBlank(): void {
    this.#transactions.write(({ sessions }) => {
      for (const n of sessions.blank(this.#now() - BLANK_MS)) sessions.remove(n);
    });
  }

  /** Ends the claims of an earlier process. */
  releaseEvents(): void {
    this.#transactions.write(({ outbox }) => outbox.release());
  }

  async createSession(
    key: SessionKey,
    state: Record<string, unknown>,
    kept?: readonly OutboxEvent[],
  ): Promise<StoredSession> {
    return this.#transactions.write(({ sessions, states, outbox }) => {
      const at = this.#now();
      const delta = splitState(state);
      const own = toJson(applyDelta(emptyState(), delta.session), 'The session state');
      if (!sessions.add(key, own, at)) throw new StoreError(`The session ${key.id} exists already.`);
      states.changeShared(key, delta);
      if (kept) outbox.add(key, kept, at);
      const summary = { id: key.id, title: null, createdAt: at, updatedAt: at };
      return { ...summary, state: states.seenBy(key, own), events: [] };
    });
  }

  async loadSession(key: SessionKey, limits?: HistoryLimits): Promise<StoredSession | null> {
    return this.#transactions.read(({ sessions, states, events }) => {
      const session = sessions.find(key);
      if (session === undefined) return null;
      const stored = { ...summaryOf(session), state: states.seenBy(key, session.state) };
      const newest = limits && events.last(session.n, { count: limits.events, bytes: limits.bytes });
      if (!newest) return { ...stored, events: events.all(session.n) };
      return { ...stored, events: newest.documents, hasOlder: newest.hasOlder };
    });
  }

  async loadEvents(
    key: SessionKey,
    request: EventRequest,
  ): Promise<{ events: Event[]; count: number } | null> {
    return this.#transactions.read(({ sessions, events }) => {
      const session = sessions.find(key);
      if (session === undefined) return null;
      const found = events.from(session.n, request.from, request.events, request.bytes);
      return { events: found, count: events.count(session.n) };
    });
  }

  async own(key: SessionKey): Promise<OwnedKey | null> {
    return this.#transactions.write(({ sessions }) => {
      const fence = sessions.fence(key);
      return fence === null ? null : { app: key.app, user: key.user, id: key.id, fence };
    });
  }

  async findSession(key: SessionKey): Promise<SessionSummary | null> {
    return this.#transactions.read(({ sessions }) => {
      const session = sessions.find(key);
      return session === undefined ? null : summaryOf(session);
    });
  }

  async listSessions(app: string, user: string, page?: ListRequest): Promise<ListedSession[]> {
    return this.#transactions.read(({ sessions }) => sessions.ofUser(app, user, this.#now(), page));
  }

  async listAllSessions(app: string, page: AllSessionsRequest): Promise<AllSessionsPage> {
    return this.#transactions.read(({ sessions }) => sessions.ofAll(app, this.#now(), page));
  }

  async sessionBytes(key: SessionKey): Promise<number> {
    return this.#transactions.read(({ sessions }) => sessions.bytesOf(key));
  }

  async renameSession(key: SessionKey, title: string | null): Promise<boolean> {
    return this.#transactions.write(({ sessions }) => sessions.rename(key, title));
  }

  async deleteSession(key: SessionKey, kept?: readonly OutboxEvent[]): Promise<boolean> {
    const removed = this.#transactions.write(({ sessions, auditLines, outbox }) => {
      const session = sessions.find(key);
      if (session === undefined) return null;
      if (kept) outbox.add(key, kept, this.#now());
      return sessions.hide(key, session.n, auditLines.last());
    });
    if (removed === null) return false;
    // SQLite works in this thread, so removing hundreds of megabytes at once would block all other conversations.
    for (const _ of this.#removePieces(removed)) await setImmediate();
    return true;
  }

  /** Removes the rows of a removed session, one transaction at a time. */
  *#removePieces({ n, lastLine, ...key }: RemovedSession): Generator<void> {
    let line: number | null = 0;
    let isMore = true;
    while (isMore || line !== null) {
      this.#transactions.write(({ sessions, auditLines }) => {
        isMore = sessions.removePiece(n);
        if (line !== null) line = auditLines.emptyPiece(key, line, lastLine);
        if (!isMore && line === null) sessions.remove(n);
      });
      yield;
    }
  }

  async appendEvent(
    key: OwnedKey,
    event: Event,
    seen?: StateRecord,
    accepted?: AcceptedRequest,
    kept?: readonly OutboxEvent[],
  ): Promise<void> {
    this.#transactions.write(({ states, events, calls, requests, sessions, outbox }) => {
      const n = sessions.touch(key, this.#now()) ?? missing(key);
      const delta = event.actions?.stateDelta ?? emptyState();
      if (hasKeys(delta)) {
        const session = sessions.find(key) ?? missing(key);
        if (seen) checkUnchanged(delta, seen, states.seenBy(key, session.state));
        states.change(key, session, delta);
      }
      events.put(n, event.id, eventToJson(event));
      for (const id of answeredCalls(event)) calls.settle(n, id);
      if (accepted) requests.add(n, accepted);
      if (kept) outbox.add(key, kept, this.#now());
    });
  }

  async putMessage(
    key: OwnedKey,
    message: Message,
    accepted?: AcceptedRequest,
    kept?: readonly OutboxEvent[],
  ): Promise<void> {
    this.#transactions.write(({ messages, waiting, requests, sessions, outbox }) => {
      const n = sessions.touch(key, this.#now()) ?? missing(key);
      messages.put(n, message.id, toJson(message, 'The message'));
      if (message.role === 'assistant') waiting.answeredBy(n, message.id);
      if (accepted) requests.add(n, accepted);
      if (kept) outbox.add(key, kept, this.#now());
    });
  }

  async loadMessages(key: SessionKey): Promise<Message[]> {
    return this.#transactions.read(({ sessions, messages }) => {
      const session = sessions.find(key);
      return session === undefined ? [] : messages.all(session.n);
    });
  }

  async loadMessage(key: SessionKey, messageId: string): Promise<Message | null> {
    return this.#transactions.read(({ sessions, messages }) => {
      const session = sessions.find(key);
      return session === undefined ? null : messages.find(session.n, messageId);
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
      const n = sessions.findOwned(key);
      if (n === undefined || !messages.truncate(n, messageId)) return false;
      sessions.touch(key, this.#now());
      return true;
    });
  }

  async addWaiting(key: OwnedKey, added: WaitingMessage, accepted?: AcceptedRequest): Promise<void> {
    this.#transactions.write(({ waiting, requests, sessions }) => {
      const n = sessions.touch(key, this.#now()) ?? missing(key);
      waiting.put(n, added.message.id, toJson(added, 'The message'));
      if (accepted) requests.add(n, accepted);
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
      const n = sessions.findOwned(key) ?? missing(key);
      for (const call of issued) {
        calls.add(n, call);
        if (isQuestion(call)) auditLines.add(key, this.#now(), issuedLine(call));
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

  async findCalls(app: string, id: { approvalId: string } | { id: string }): Promise<FoundCall[]> {
    return this.#transactions.read(({ calls }) => calls.findAnywhere(app, id));
  }

  async moveCall(
    key: OwnedKey,
    move: CallMove,
    line: AuditEntry | null,
    accepted?: AcceptedRequest,
    kept?: readonly OutboxEvent[],
  ): Promise<CallRecord | null> {
    return this.#transactions.writeToDisk((tables) =>
      this.#move(tables, key, tables.sessions.findOwned(key), { move, line, accepted, kept }),
    );
  }

  async decideCall(
    key: SessionKey,
    decision: Decision,
    line: AuditEntry,
    accepted?: AcceptedRequest,
    kept?: readonly OutboxEvent[],
  ): Promise<CallRecord | null> {
    return this.#transactions.writeToDisk((tables) =>
      this.#move(tables, key, tables.sessions.find(key)?.n, {
        move: decisionMove(decision),
        line,
        accepted,
        kept,
      }),
    );
  }

  async audit(key: SessionKey, line: AuditEntry): Promise<void> {
    this.#transactions.write(({ sessions, auditLines }) => {
      const args = sessions.find(key) === undefined ? null : line.args;
      auditLines.add(key, this.#now(), { ...line, args });
    });
  }

  async loadAuditPage(key: SessionKey, page: AuditPageRequest): Promise<AuditPage> {
    return this.#transactions.read(({ auditLines }) => auditLines.page(key, page));
  }

  async acceptRequest(key: OwnedKey, accepted: AcceptedRequest): Promise<void> {
    this.#transactions.write(({ sessions, requests }) =>
      requests.add(sessions.findOwned(key) ?? missing(key), accepted),
    );
  }

  async acceptedRequests(key: SessionKey): Promise<AcceptedRequest[]> {
    return this.#transactions.read(({ sessions, requests }) => {
      const session = sessions.find(key);
      return session === undefined ? [] : requests.all(session.n);
    });
  }

  async putFile(key: OwnedKey, id: string, file: StoredFile): Promise<void> {
    this.#transactions.write(({ sessions, files }) =>
      files.put(sessions.findOwned(key) ?? missing(key), id, file),
    );
  }

  async loadFile(key: SessionKey, id: string): Promise<StoredFile | null> {
    return this.#transactions.read(({ sessions, files }) => {
      const session = sessions.find(key);
      return session === undefined ? null : files.find(session.n, id);
    });
  }

  saveArtifact(key: OwnedKey, name: string, content: ArtifactContent): Promise<number> {
    return this.#artifacts.saveArtifact(key, name, content);
  }

  loadArtifact(key: SessionKey, name: string, version?: number): Promise<ArtifactContent | null> {
    return this.#artifacts.loadArtifact(key, name, version);
  }

  artifactNames(key: SessionKey): Promise<string[]> {
    return this.#artifacts.artifactNames(key);
  }

  artifactVersions(key: SessionKey, name: string): Promise<ArtifactInfo[]> {
    return this.#artifacts.artifactVersions(key, name);
  }

  removeArtifact(key: OwnedKey, name: string): Promise<void> {
    return this.#artifacts.removeArtifact(key, name);
  }

  userArtifactBytes(key: SessionKey): Promise<number> {
    return this.#artifacts.userArtifactBytes(key);
  }

  keepEvents(key: SessionKey, events: readonly OutboxEvent[]): Promise<void> {
    return this.#outbox.keepEvents(key, events);
  }

  claimEvents(app: string, subscription: string, request: ClaimRequest): Promise<ClaimedEvents[]> {
    return this.#outbox.claimEvents(app, subscription, request);
  }

  keepClaim(claimed: ClaimedEvents, leaseMs: number, delivered?: string): Promise<boolean> {
    return this.#outbox.keepClaim(claimed, leaseMs, delivered);
  }

  endClaim(claimed: ClaimedEvents, retryMs?: number): Promise<void> {
    return this.#outbox.endClaim(claimed, retryMs);
  }

  trimEvents(app: string, subscription: string, limits: { before: number; count: number }): Promise<number> {
    return this.#outbox.trimEvents(app, subscription, limits);
  }

  async close(): Promise<void> {
    if (this.#transactions.close()) this.#releaseLock();
  }

  #move(
    { calls, auditLines, requests, outbox }: Tables,
    key: SessionKey,
    session: number | undefined,
    { move, line, accepted, kept }: Move,
  ): CallRecord | null {
    if (session === undefined) return null;
    const call = calls.move(session, move);
    if (call === null) return null;
    if (line !== null) auditLines.add(key, this.#now(), line);
    if (accepted) requests.add(session, accepted);
    if (kept) outbox.add(key, kept, this.#now());
    return call;
  }
}

function missing(key: SessionKey): never {
  throw noSuchSession(key);
}
