import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Event } from '@google/adk';
import type { Message } from '../../protocol/index.ts';
import { answeredCalls, eventToJson, fromJson, stateFromJson, toJson } from './json.ts';
import {
  checkOwner,
  decisionMove,
  fitting,
  issuedLine,
  lastUsedFirst,
  noSuchSession,
  recordedAlready,
} from './rules.ts';
import { type Database, openDatabase } from './sqlite-database.ts';
import { takeLock } from './sqlite-lock.ts';
import {
  auditLineOf,
  callOf,
  listedOf,
  orNull,
  requestOf,
  type SessionRow,
  summaryOf,
} from './sqlite-rows.ts';
import { migrate } from './sqlite-schema.ts';
import { prepareStatements, type Statements } from './sqlite-statements.ts';
import { toText } from './sqlite-text.ts';
import {
  applyDelta,
  checkUnchanged,
  emptyState,
  hasKeys,
  joinState,
  type StateRecord,
  splitState,
} from './state.ts';
import {
  type AcceptedRequest,
  type AuditEntry,
  type AuditLine,
  type CallMove,
  type CallRecord,
  type Decision,
  type ListedSession,
  MAX_REQUESTS,
  type OwnedKey,
  type Page,
  type PageRequest,
  type SessionKey,
  type SessionSummary,
  type Store,
  type StoredSession,
  StoreError,
  type WaitingMessage,
} from './store.ts';

/**
 * Opens the store in a folder (or in a file whose name ends in `.db`), creating what is missing. One process at a time
 * may hold it; a second one gets a `StoreError` that says so.
 */
export async function openSqliteStore(
  folderOrFile: string,
  options: { now?: () => number } = {},
): Promise<Store> {
  const file = resolve(folderOrFile.endsWith('.db') ? folderOrFile : join(folderOrFile, 'duologue.db'));
  let releaseLock = (): void => {};
  let db: Database | undefined;
  try {
    // What people said is nobody else's to read.
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    releaseLock = await takeLock(file);
    db = await openDatabase(file);
    db.exec('pragma busy_timeout = 5000');
    db.exec('pragma journal_mode = wal');
    // What is committed has left the process and survives its death; only a power cut can take the last transactions,
    // never tear one. The ledger asks for more: see `#writeToDisk`.
    db.exec('pragma synchronous = normal');
    migrate(db);
    return new SqliteStore(db, releaseLock, options.now ?? Date.now);
  } catch (cause) {
    db?.close();
    releaseLock();
    if (cause instanceof StoreError) throw cause;
    throw new StoreError(`The sessions in ${file} cannot be opened: ${String(cause)}`, { cause });
  }
}

class SqliteStore implements Store {
  readonly #db: Database;
  readonly #sql: Statements;
  readonly #now: () => number;
  readonly #releaseLock: () => void;
  #closed = false;

  constructor(db: Database, releaseLock: () => void, now: () => number) {
    this.#db = db;
    this.#sql = prepareStatements(db);
    this.#now = now;
    this.#releaseLock = releaseLock;
  }

  async createSession(key: SessionKey, state: Record<string, unknown>): Promise<StoredSession> {
    return this.#write(() => {
      if (this.#find(key) !== undefined) throw new StoreError(`The session ${key.id} exists.`);
      const at = this.#now();
      const delta = splitState(state);
      this.#changeSharedState(key, delta);
      const text = toJson(applyDelta(emptyState(), delta.session), 'The session state');
      this.#sql.addSession.run(...keyText(key), text, at, at);
      return {
        id: key.id,
        title: null,
        createdAt: at,
        updatedAt: at,
        state: this.#stateOf(key, text),
        events: [],
      };
    });
  }

  async loadSession(key: SessionKey): Promise<StoredSession | null> {
    return this.#read(() => {
      const session = this.#find(key);
      if (session === undefined) return null;
      const rows = this.#sql.events.all(session.n);
      return {
        ...summaryOf(session),
        state: this.#stateOf(key, session.state),
        events: rows.map((row) => fromJson<Event>(row.data)),
      };
    });
  }

  async own(key: SessionKey): Promise<OwnedKey | null> {
    return this.#write(() => {
      const session = this.#find(key);
      if (session === undefined) return null;
      this.#sql.raiseFence.run();
      const fence = this.#sql.lastFence.first()?.last ?? 0;
      this.#sql.setFence.run(fence, session.n);
      return { app: key.app, user: key.user, id: key.id, fence };
    });
  }

  async findSession(key: SessionKey): Promise<SessionSummary | null> {
    return this.#read(() => {
      const session = this.#find(key);
      return session === undefined ? null : summaryOf(session);
    });
  }

  async listSessions(app: string, user: string): Promise<ListedSession[]> {
    return this.#read(() =>
      lastUsedFirst(this.#sql.sessionsOfUser.all(this.#now(), toText(app), toText(user)).map(listedOf)),
    );
  }

  async renameSession(key: SessionKey, title: string | null): Promise<boolean> {
    return this.#write(() => this.#sql.renameSession.run(orNull(title, toText), ...keyText(key)) > 0);
  }

  async deleteSession(key: SessionKey): Promise<boolean> {
    return this.#write(() => {
      const session = this.#find(key);
      if (session === undefined) return false;
      for (const remove of this.#sql.deleteAllOf) remove.run(session.n);
      this.#sql.emptyAuditLines.run(...keyText(key));
      return true;
    });
  }

  async appendEvent(
    key: OwnedKey,
    event: Event,
    seen?: StateRecord,
    accepted?: AcceptedRequest,
  ): Promise<void> {
    this.#write(() => {
      const session = this.#need(key);
      const delta = event.actions?.stateDelta ?? emptyState();
      if (seen && hasKeys(delta)) checkUnchanged(delta, seen, this.#stateOf(key, session.state));
      this.#sql.putEvent.run(session.n, session.n, toText(event.id), eventToJson(event));
      if (hasKeys(delta)) this.#changeState(key, session, delta);
      for (const id of answeredCalls(event)) this.#sql.settleCall.run(session.n, toText(id));
      if (accepted) this.#accept(session.n, accepted);
      this.#sql.touchSession.run(this.#now(), session.n);
    });
  }

  async putMessage(key: OwnedKey, message: Message, accepted?: AcceptedRequest): Promise<void> {
    this.#write(() => {
      const { n } = this.#need(key);
      this.#sql.putMessage.run(n, n, toText(message.id), toJson(message, 'The message'));
      if (message.role === 'assistant') this.#sql.answerWaiting.run(n, n, toText(message.id));
      if (accepted) this.#accept(n, accepted);
      this.#sql.touchSession.run(this.#now(), n);
    });
  }

  async loadMessages(key: SessionKey): Promise<Message[]> {
    return this.#read(() => {
      const session = this.#find(key);
      if (session === undefined) return [];
      return this.#sql.messages.all(session.n).map((row) => fromJson<Message>(row.data));
    });
  }

  async loadPage(key: SessionKey, { before, count, bytes }: PageRequest): Promise<Page | null> {
    return this.#read(() => {
      const session = this.#find(key);
      if (session === undefined) return before === undefined ? { messages: [], hasOlder: false } : null;
      const cursor =
        before === undefined
          ? Number.MAX_SAFE_INTEGER
          : this.#sql.messagePlace.first(session.n, toText(before))?.seq;
      if (cursor === undefined) return null;
      const sizes = this.#sql.messageSizes.all(session.n, cursor, count + 1).map(({ size }) => size);
      const fit = fitting(sizes, count, bytes);
      const rows = this.#sql.messagesBefore.all(session.n, cursor, fit);
      return {
        messages: rows.map((row) => fromJson<Message>(row.data)).reverse(),
        hasOlder: sizes.length > fit,
      };
    });
  }

  async truncateMessages(key: OwnedKey, messageId: string): Promise<boolean> {
    return this.#write(() => {
      const session = this.#findOwned(key);
      if (session === undefined) return false;
      if (this.#sql.truncateMessages.run(session.n, session.n, toText(messageId)) === 0) return false;
      this.#sql.touchSession.run(this.#now(), session.n);
      return true;
    });
  }

  async addWaiting(key: OwnedKey, waiting: WaitingMessage, accepted?: AcceptedRequest): Promise<void> {
    this.#write(() => {
      const { n } = this.#need(key);
      this.#sql.addWaiting.run(n, n, toText(waiting.message.id), toJson(waiting, 'The message'));
      if (accepted) this.#accept(n, accepted);
      this.#sql.touchSession.run(this.#now(), n);
    });
  }

  async waitingMessages(key: SessionKey): Promise<WaitingMessage[]> {
    return this.#read(() => {
      const session = this.#find(key);
      if (session === undefined) return [];
      return this.#sql.waiting.all(session.n).map((row) => fromJson<WaitingMessage>(row.data));
    });
  }

  async dropWaiting(key: OwnedKey, messageId: string): Promise<boolean> {
    return this.#write(() => {
      const session = this.#findOwned(key);
      return session !== undefined && this.#sql.dropWaiting.run(session.n, toText(messageId)) > 0;
    });
  }

  async issueCalls(key: OwnedKey, calls: CallRecord[]): Promise<void> {
    this.#write(() => {
      const { n } = this.#need(key);
      for (const call of calls) {
        if (this.#sql.callById.first(n, toText(call.id)) !== undefined)
          throw recordedAlready(`call ${call.id}`);
        if (call.approvalId !== null) {
          if (this.#sql.callByApproval.first(n, toText(call.approvalId)) !== undefined) {
            throw recordedAlready(`approval ${call.approvalId}`);
          }
          this.#addLine(key, issuedLine(call));
        }
        this.#sql.addCall.run(
          n,
          toText(call.id),
          orNull(call.approvalId, toText),
          toText(call.toolName),
          toJson(call.args, 'The arguments'),
          toText(call.argsHash),
          call.runsOn,
          call.status,
          orNull(call.reason, toText),
          toText(call.messageId),
          toText(call.agent),
          toText(call.invocationId),
          orNull(call.branch, toText),
          call.issuedAt,
          call.expiresAt,
        );
      }
    });
  }

  async openCalls(key: SessionKey): Promise<CallRecord[]> {
    return this.#read(() => {
      const session = this.#find(key);
      return session === undefined ? [] : this.#sql.openCalls.all(session.n).map(callOf);
    });
  }

  async findCall(key: SessionKey, id: { approvalId: string } | { id: string }): Promise<CallRecord | null> {
    return this.#read(() => {
      const session = this.#find(key);
      if (session === undefined) return null;
      const row =
        'id' in id
          ? this.#sql.callById.first(session.n, toText(id.id))
          : this.#sql.callByApproval.first(session.n, toText(id.approvalId));
      return row === undefined ? null : callOf(row);
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
    return this.#writeToDisk(() => this.#move(key, this.#find(key), decisionMove(decision), line, accepted));
  }

  async audit(key: SessionKey, line: AuditEntry): Promise<void> {
    this.#write(() => this.#addLine(key, line));
  }

  async auditLog(key: SessionKey): Promise<AuditLine[]> {
    return this.#read(() => this.#sql.auditLines.all(...keyText(key)).map(auditLineOf));
  }

  async acceptRequest(key: OwnedKey, accepted: AcceptedRequest): Promise<void> {
    this.#write(() => this.#accept(this.#need(key).n, accepted));
  }

  async acceptedRequests(key: SessionKey): Promise<AcceptedRequest[]> {
    return this.#read(() => {
      const session = this.#find(key);
      return session === undefined ? [] : this.#sql.requests.all(session.n).map(requestOf);
    });
  }

  async putFile(key: OwnedKey, id: string, file: { mediaType: string; bytes: Uint8Array }): Promise<void> {
    this.#write(() => {
      this.#sql.putFile.run(this.#need(key).n, toText(id), toText(file.mediaType), file.bytes);
    });
  }

  async loadFile(key: SessionKey, id: string): Promise<{ mediaType: string; bytes: Uint8Array } | null> {
    return this.#read(() => {
      const session = this.#find(key);
      const row = session === undefined ? undefined : this.#sql.file.first(session.n, toText(id));
      return row === undefined ? null : { mediaType: row.media_type, bytes: new Uint8Array(row.bytes) };
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

  #read<T>(work: () => T): T {
    if (this.#closed) throw new StoreError('The store is closed.');
    return work();
  }

  #write<T>(work: () => T): T {
    return this.#read(() => this.#db.transaction(work));
  }

  /**
   * A tool may act on the world right after such a write: were it lost in a power cut, the tool could act twice. So the
   * commit, and with it all before it, is on the disk before anyone hears of it.
   */
  #writeToDisk<T>(work: () => T): T {
    return this.#read(() => {
      this.#db.exec('pragma synchronous = full');
      try {
        return this.#db.transaction(work);
      } finally {
        this.#db.exec('pragma synchronous = normal');
      }
    });
  }

  #find(key: SessionKey): SessionRow | undefined {
    return this.#sql.session.first(...keyText(key));
  }

  /** The session, if whoever writes owns it. */
  #findOwned(key: OwnedKey): SessionRow | undefined {
    const session = this.#find(key);
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
    const id = toText(move.id);
    if (this.#sql.moveCall.run(move.to, session.n, id, move.from) === 0) return null;
    if (move.reason !== undefined) this.#sql.setReason.run(orNull(move.reason, toText), session.n, id);
    if (move.expiresAt !== undefined) this.#sql.setExpiry.run(move.expiresAt, session.n, id);
    if (line !== null) this.#addLine(key, line);
    if (accepted) this.#accept(session.n, accepted);
    const row = this.#sql.callById.first(session.n, id);
    return row === undefined ? null : callOf(row);
  }

  #stateOf(key: SessionKey, session: string): StateRecord {
    return joinState({
      app: stateFromJson(this.#sql.appState.first(toText(key.app))?.state ?? '{}'),
      user: stateFromJson(this.#sql.userState.first(toText(key.app), toText(key.user))?.state ?? '{}'),
      session: stateFromJson(session),
    });
  }

  #changeState(key: SessionKey, session: SessionRow, change: Record<string, unknown>): void {
    const delta = splitState(change);
    this.#changeSharedState(key, delta);
    if (hasKeys(delta.session)) {
      const next = applyDelta(stateFromJson(session.state), delta.session);
      this.#sql.setState.run(toJson(next, 'The session state'), session.n);
    }
  }

  #changeSharedState(key: SessionKey, delta: { app: StateRecord; user: StateRecord }): void {
    const app = toText(key.app);
    const user = toText(key.user);
    if (hasKeys(delta.app)) {
      const current = stateFromJson(this.#sql.appState.first(app)?.state ?? '{}');
      this.#sql.setAppState.run(app, toJson(applyDelta(current, delta.app), 'The app state'));
    }
    if (hasKeys(delta.user)) {
      const current = stateFromJson(this.#sql.userState.first(app, user)?.state ?? '{}');
      this.#sql.setUserState.run(app, user, toJson(applyDelta(current, delta.user), 'The user state'));
    }
  }

  #accept(session: number, { requestId, messageId, parts }: AcceptedRequest): void {
    this.#sql.addRequest.run(session, session, toText(requestId), orNull(messageId, toText), parts);
    this.#sql.dropRequests.run(session, session, MAX_REQUESTS);
  }

  #addLine(key: SessionKey, line: AuditEntry): void {
    const args = this.#find(key) === undefined ? null : line.args;
    this.#sql.addAuditLine.run(
      ...keyText(key),
      this.#now(),
      line.kind,
      orNull(line.approvalId, toText),
      orNull(line.toolCallId, toText),
      orNull(line.toolName, toText),
      orNull(line.argsHash, toText),
      orNull(args, (value) => toJson(value, 'The arguments')),
      orNull(line.reason, toText),
    );
  }
}

function keyText(key: SessionKey): [app: string, user: string, id: string] {
  return [toText(key.app), toText(key.user), toText(key.id)];
}
