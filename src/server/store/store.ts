import type { Event } from '@google/adk';
import type { Message } from '../../protocol/index.ts';

/** A session belongs to one user of one app; for anyone else it does not exist. */
export interface SessionKey {
  app: string;
  user: string;
  id: string;
}

/**
 * A session in the hands of its owner: what every write of it carries. The fence is a number that no other owner has or had;
 * a session that nobody ever owned has 0.
 */
export interface OwnedKey extends SessionKey {
  fence: number;
}

/** Some of the messages of a session, counted from its end. */
export interface PageRequest {
  /** The message that the page ends before; without one it ends with the last. */
  before?: string | undefined;
  /** At most so many messages. */
  count: number;
  /** At most so many bytes of their JSON, unless one alone has more. */
  bytes: number;
}

/** Messages in their order. */
export interface Page {
  messages: Message[];
  /** Whether there are messages before these. */
  hasOlder: boolean;
}

/** How much of a session's history is loaded: its newest events. */
export interface HistoryLimits {
  /** At most so many events. */
  events: number;
  /** At most so many bytes of their JSON, unless one alone has more. */
  bytes: number;
}

/** Some of the events of a session, counted from its beginning. */
export interface EventRequest extends HistoryLimits {
  /** How many events stand before the first of them. */
  from: number;
}

/** Some of the sessions of a user, those used last first. */
export interface ListRequest {
  /** The session that the list goes on after, as it was listed; without one it begins with the session used last. */
  after?: Pick<SessionSummary, 'id' | 'updatedAt'> | undefined;
  /** At most so many sessions. */
  count: number;
}

/** What is known of a session without its content. */
export interface SessionSummary {
  id: string;
  title: string | null;
  createdAt: number;
  updatedAt: number;
}

/** A session in the list of its user. */
export interface ListedSession extends SessionSummary {
  /** Whether a call of it waits for a decision of the person. */
  isWaiting: boolean;
  /** Whether its last answer failed, or was cut off. */
  hasFailed: boolean;
}

/** A session with the events that the model's history is made of. */
export interface StoredSession extends SessionSummary {
  state: Record<string, unknown>;
  events: Event[];
  /** Whether there are events before these, which were not loaded. */
  hasOlder?: boolean;
}

/**
 * Where a recorded call stands. `requested` waits for the person; `approved` may be consumed once; `ready` needs no
 * approval and waits for its turn on the server; `running` was consumed (or was ready) and its tool runs, on the server or
 * in the browser; `settled` has its answer in the history. `denied` and `expired` are decided but not yet written to the
 * history.
 */
export type CallStatus =
  | 'requested'
  | 'approved'
  | 'denied'
  | 'expired'
  | 'ready'
  | 'running'
  | 'parked'
  | 'settled';

/** A tool call that waits, or waited, for the person or the browser: written before anyone hears of it. */
export interface CallRecord {
  /** The tool call id. */
  id: string;
  /** `approval_<uuid>`, or null when the call does not ask. */
  approvalId: string | null;
  toolName: string;
  args: Record<string, unknown>;
  /** SHA-256 of the canonical JSON of the arguments. */
  argsHash: string;
  runsOn: 'server' | 'client';
  status: CallStatus;
  reason: string | null;
  /** The message that shows the call. */
  messageId: string;
  /** The agent that made the call, and its invocation. */
  agent: string;
  invocationId: string;
  branch: string | null;
  issuedAt: number;
  /** When the approval, or after it the browser's answer, is too late. */
  expiresAt: number | null;
}

/** What is written down about an approval. */
export type AuditKind = 'issued' | 'approved' | 'denied' | 'expired' | 'consumed' | 'refused';

/** A line of the audit log. Lines are only ever added, until the session is deleted (`Store.deleteSession`). */
export interface AuditLine {
  at: number;
  kind: AuditKind;
  sessionId: string;
  user: string;
  approvalId: string | null;
  toolCallId: string | null;
  toolName: string | null;
  argsHash: string | null;
  args: Record<string, unknown> | null;
  /** Why: the person's reason, or what was wrong with a refused answer. */
  reason: string | null;
}

/** What a caller adds to the audit log; the store fills in time, session and user. */
export type AuditEntry = Omit<AuditLine, 'at' | 'sessionId' | 'user'>;

/** Some of the audit lines of a session, counted from the newest. */
export interface AuditPageRequest {
  /** The cursor that the page ends before, from `AuditPage.older`; without one the page ends with the newest line. */
  before?: number | undefined;
  /** At most so many lines. */
  count: number;
  /** At most so many bytes of arguments and reasons, unless one line alone has more. */
  bytes: number;
}

/** Audit lines, oldest first. */
export interface AuditPage {
  lines: AuditLine[];
  /** The cursor of the page before this one; null when this page begins with the oldest line. */
  older: number | null;
}

/** A change of status that happens only if the call still stands where the caller believes. */
export interface CallMove {
  id: string;
  from: CallStatus;
  to: CallStatus;
  reason?: string | null;
  expiresAt?: number | null;
}

/** A request of a client that has a name and was taken. */
export interface AcceptedRequest {
  requestId: string;
  /** The message in which the agent answers it; null when it is not answered by one. */
  messageId: string | null;
  /** How many parts that message had before. */
  parts: number;
}

/** Accepted requests that are kept of a session; older ones are forgotten. */
export const MAX_REQUESTS = 256;

/** What a person decided about a call that asks. */
export interface Decision {
  id: string;
  to: 'approved' | 'denied';
  reason: string | null;
}

/** A message of the person that waits for the agent. */
export interface WaitingMessage {
  message: Message;
  /** The id that the answer will have, if it has one already. */
  answerId: string | null;
}

/**
 * Everything that outlives the process: sessions, their events, messages, calls and audit lines. Every method is one
 * transaction, except that a store may remove the rows of a deleted session in several, once nobody finds it. Times are milliseconds since 1970 and come from the store's clock.
 *
 * A session has one owner at a time. What is written of it carries the owner's fence (`OwnedKey`); under another fence than
 * the session's, nothing is written and a `StaleFence` is thrown. Decisions, audit lines, new names and removal need no
 * owner.
 */
export interface Store {
  createSession(key: SessionKey, state: Record<string, unknown>): Promise<StoredSession>;
  /** The session with its newest events, or with all of them when no limits are given. Null when there is no such session. */
  loadSession(key: SessionKey, limits?: HistoryLimits): Promise<StoredSession | null>;
  /** Some of the events, and how many there are in all; null when there is no such session. */
  loadEvents(key: SessionKey, request: EventRequest): Promise<{ events: Event[]; count: number } | null>;
  /** Makes the caller the owner: whoever was it before cannot write any more. Null when there is no such session. */
  own(key: SessionKey): Promise<OwnedKey | null>;
  /** What is known of a session; null when there is none such. */
  findSession(key: SessionKey): Promise<SessionSummary | null>;
  /**
   * The user's sessions, last used first; those used in the same millisecond stand by id. All of them, or a page of those that have a
   * title or a message. The cost of a page does not depend on how many other sessions there are.
   */
  listSessions(app: string, user: string, page?: ListRequest): Promise<ListedSession[]>;
  /** How many bytes the events, messages and files of a session have; 0 when there is no such session. */
  sessionBytes(key: SessionKey): Promise<number>;
  /** False when there is no such session. */
  renameSession(key: SessionKey, title: string | null): Promise<boolean>;
  /**
   * Removes session, events, messages, calls and files. Audit lines stay without arguments and reasons, except `refused` lines
   * that name no tool: those answers belonged to no call, and are removed.
   */
  deleteSession(key: SessionKey): Promise<boolean>;

  /**
   * Adds an event (or replaces the one with its id), applies its state delta, and settles the calls it answers: every
   * recorded call whose id stands in a function response of the event becomes `settled` in the same transaction.
   * `seen` is the state that the changes were made from: when a key of the delta, whatever its scope, has another value
   * by now, nothing at all is written and a `StateConflict` is thrown. Throws when the session does not exist.
   * Here and below, `accepted` is the request that is taken with this.
   */
  appendEvent(
    key: OwnedKey,
    event: Event,
    seen?: Record<string, unknown>,
    accepted?: AcceptedRequest,
  ): Promise<void>;

  /**
   * Adds a message at the end, or replaces the one with its id where it stands. When it is one of the agent, the messages
   * before it wait no longer.
   */
  putMessage(key: OwnedKey, message: Message, accepted?: AcceptedRequest): Promise<void>;
  /** All messages, however many: for exports and tests. The server reads pages, and single messages. */
  loadMessages(key: SessionKey): Promise<Message[]>;
  /** One message; null when it is not there. */
  loadMessage(key: SessionKey, messageId: string): Promise<Message | null>;
  /** The last messages, or the last before one that is named; null when that is not there. */
  loadPage(key: SessionKey, page: PageRequest): Promise<Page | null>;
  /** Removes a message and all after it; false when it is not there. */
  truncateMessages(key: OwnedKey, messageId: string): Promise<boolean>;

  /** Lets a message of the person wait, behind those that wait already. It is none of the session's messages yet. */
  addWaiting(key: OwnedKey, waiting: WaitingMessage, accepted?: AcceptedRequest): Promise<void>;
  /** The messages that wait, in order. One whose answer was not stored yet is among them, also when it is stored itself. */
  waitingMessages(key: SessionKey): Promise<WaitingMessage[]>;

  /** Records calls before anyone hears of them, with an `issued` line for each that asks. */
  issueCalls(key: OwnedKey, calls: CallRecord[]): Promise<void>;
  /** The calls of a session that are not settled, in the order of issue. */
  openCalls(key: SessionKey): Promise<CallRecord[]>;
  /** A call by approval id or by call id; null when the session has none such. */
  findCall(key: SessionKey, id: { approvalId: string } | { id: string }): Promise<CallRecord | null>;
  /** Moves a call if it still is in `from`, and writes the line in the same transaction. Null when it was not. */
  moveCall(
    key: OwnedKey,
    move: CallMove,
    line: AuditEntry | null,
    accepted?: AcceptedRequest,
  ): Promise<CallRecord | null>;
  /** Decides a call that is `requested`, and writes the line in the same transaction. Null when it is not: the first counts. */
  decideCall(
    key: SessionKey,
    decision: Decision,
    line: AuditEntry,
    accepted?: AcceptedRequest,
  ): Promise<CallRecord | null>;
  /** Adds a line to the audit log. */
  audit(key: SessionKey, line: AuditEntry): Promise<void>;
  /** A page of the audit lines of a session, which outlive the session. A session without lines has an empty page. */
  loadAuditPage(key: SessionKey, page: AuditPageRequest): Promise<AuditPage>;

  /** Writes down that a request was taken, or taken again. */
  acceptRequest(key: OwnedKey, accepted: AcceptedRequest): Promise<void>;
  /** The requests that were taken last, oldest first. */
  acceptedRequests(key: SessionKey): Promise<AcceptedRequest[]>;

  /** Keeps a file for the session, by the id given. */
  putFile(key: OwnedKey, id: string, file: { mediaType: string; bytes: Uint8Array }): Promise<void>;
  loadFile(key: SessionKey, id: string): Promise<{ mediaType: string; bytes: Uint8Array } | null>;

  close(): Promise<void>;
}

/** Thrown when state to be changed is no longer what the change was made from. */
export class StateConflict extends Error {
  override readonly name = 'StateConflict';
}

/** Thrown when a session to be created exists, or one to be written to does not. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError';
}

/** Thrown when the store is away, full or only reads: nothing was written, and the same write may succeed later. */
export class StoreUnavailable extends StoreError {
  override readonly name = 'StoreUnavailable';
}

/** Thrown when whoever writes does not own the session, or does not any more. Nothing was written. */
export class StaleFence extends StoreError {
  override readonly name = 'StaleFence';

  constructor(key: SessionKey) {
    super(`The session ${key.id} has another owner now: nothing was written.`);
  }
}

/** A process among several that share a store, and where the others reach it. */
export interface NodePlace {
  /** No other process has or had it. */
  name: string;
  /** `http://host:port` */
  address: string;
}

/** Who owns a session: whoever asked, from now on; or another node, which lives. */
export type Acquired =
  | { kind: 'mine'; key: OwnedKey }
  | { kind: 'elsewhere'; node: NodePlace; fence: number };

/**
 * What a store that several nodes share knows of them: which live, and which owns a session. A node lives until its lease
 * ends, by the clock of the store, unless it is renewed before. Who lives is only good for finding the owner: what keeps a
 * node from writing to a session that another has taken is the fence.
 */
export interface NodeDirectory {
  /** The node lives for so long from now on. False when its lease had ended before, or it is new. */
  renew(node: NodePlace, leaseMs: number): Promise<boolean>;
  /** The nodes that live, and what the clock of the store says: milliseconds since 1970. */
  living(): Promise<{ nodes: NodePlace[]; now: number }>;
  /**
   * Makes a node the owner of a session, unless another owns it that lives. `suspect`: the fence of an owner that is known to be
   * dead. Null when there is no such session.
   */
  acquire(key: SessionKey, node: string, suspect: number | null): Promise<Acquired | null>;
  /** The owner lets go of a session; nothing happens when another owns it. */
  release(key: OwnedKey): Promise<void>;
  /** Of these owners, those that still are. */
  stillOwned(keys: readonly OwnedKey[]): Promise<OwnedKey[]>;
  /** A node lets go of all its sessions, and is no more. */
  leave(name: string): Promise<void>;
}

/** A store that several nodes may use at once. */
export interface SharedStore extends Store {
  readonly nodes: NodeDirectory;
  /**
   * What all sessions of the app, and all of the user, share as it is now: other nodes change it, too. Null when the session is gone, or another
   * owner has it.
   */
  sharedState(key: OwnedKey): Promise<Record<string, unknown> | null>;
}
