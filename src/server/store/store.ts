import type { Event } from '@google/adk';
import type { AgentPlace } from '../../adk/for-server.ts';
import type { Message, Question } from '../../protocol/index.ts';
import type { ArtifactStore } from './artifacts.ts';
import type { OwnedKey, SessionKey } from './keys.ts';
import type { OutboxEvent, OutboxStore } from './outbox.ts';

export type { ArtifactContent, ArtifactInfo, ArtifactStore } from './artifacts.ts';
export type { OwnedKey, SessionKey } from './keys.ts';
export type { ClaimedEvents, ClaimRequest, OutboxEvent, OutboxStore } from './outbox.ts';

/** A request for a page of the messages of a session, counted from its end. */
export interface PageRequest {
  /** The id of the message before which the page ends; without it, the page ends with the last message. */
  before?: string | undefined;
  /** The largest number of messages. */
  count: number;
  /** The largest size of their JSON in bytes. One message always fits, whatever its size. */
  bytes: number;
}

/** A page of messages, in order. */
export interface Page {
  messages: Message[];
  /** Whether there are messages before these. */
  hasOlder: boolean;
}

/** How much of a session's history is loaded: its newest events. */
export interface HistoryLimits {
  /** The largest number of events. */
  events: number;
  /** The largest size of their JSON in bytes. One event always fits, whatever its size. */
  bytes: number;
}

/** A request for events of a session, counted from its beginning. */
export interface EventRequest extends HistoryLimits {
  /** The index of the first event. */
  from: number;
}

/** A request for a page of a user's sessions, last used first. */
export interface ListRequest {
  /** The last session of the previous page, with its `updatedAt` in that page; without `after`, the list begins with the session used last. */
  after?: Pick<SessionSummary, 'id' | 'updatedAt'> | undefined;
  /** The largest number of sessions. */
  count: number;
}

/** A session without its state, events and messages. */
export interface SessionSummary {
  id: string;
  title: string | null;
  createdAt: number;
  updatedAt: number;
}

/** A row of the list of a user's sessions. */
export interface ListedSession extends SessionSummary {
  /** Whether an approval request or a question of the session waits for the user and has not expired. */
  isWaiting: boolean;
  /** Whether the last message of the session failed or was cut off (`failed` or `cutOff` of its metadata). */
  hasFailed: boolean;
}

/** A session in the list of all users, and its user. */
export interface UserSession extends ListedSession {
  user: string;
}

/** A request for a page of the sessions of all users, last used first. */
export interface AllSessionsRequest {
  /** The `next` of the previous page; without it, the list begins with the session used last. */
  cursor?: string | undefined;
  /** The largest number of sessions. */
  count: number;
}

/** A page of the sessions of all users. */
export interface AllSessionsPage {
  sessions: UserSession[];
  /** The cursor of the next page; null when this page is the last. */
  next: string | null;
}

/** A call, and the session that it belongs to. */
export interface FoundCall {
  key: SessionKey;
  call: CallRecord;
}

/** A session with its state and its ADK events. */
export interface StoredSession extends SessionSummary {
  state: Record<string, unknown>;
  events: Event[];
  /** Whether the session has older events, which were not loaded. Absent when all events were requested. */
  hasOlder?: boolean;
}

/**
 * The status of a recorded call. `requested`: the call waits for the user. `approved`: the user has approved it, and its tool may be started once. `ready`:
 * it needs no approval, or no further one, and waits for the tool lock of the server. `running`: its tool runs, on the server or in the browser, or its
 * question was answered. `parked`: a long-running tool has started, and its output will come from outside; or the tool is an agent that waits for calls
 * inside it. `denied` and `expired`: the outcome is known, but the history has no response to the call yet. `settled`: the history has the response.
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

/** The record of a tool call. The server writes it before it asks the user about the call, and before it starts the tool. */
export interface CallRecord {
  /** The tool call id. */
  id: string;
  /** `approval_<uuid>`: the id of the approval request or sign-in; null when the call asks for neither. */
  approvalId: string | null;
  toolName: string;
  args: Record<string, unknown>;
  /** SHA-256 of the canonical JSON of the arguments. */
  argsHash: string;
  runsOn: 'server' | 'client';
  status: CallStatus;
  /** The question to the user: to approve the call, to sign in at a provider, or to answer. Null when the call asks nothing. */
  question: Question | null;
  /** The JSON value that the user sent to the tool with a decision; null when there is none. */
  answer: unknown;
  /** The reason that the user gave with the decision, or why the call expired; null when there is none. */
  reason: string | null;
  /** The message that shows the call. */
  messageId: string;
  /** The name of the agent that made the call. `invocationId` and `branch` are those of its ADK event. */
  agent: string;
  invocationId: string;
  branch: string | null;
  /** The place of the call among agents that are used as tools; left out for a call that is not inside such an agent, and whose tool is no agent. */
  agents?: AgentPlace | undefined;
  issuedAt: number;
  /** The deadline of the approval request, question or sign-in, and then that of the browser's output. Null when there is no deadline. */
  expiresAt: number | null;
}

/** The kinds of audit lines. */
export type AuditKind = 'issued' | 'approved' | 'denied' | 'answered' | 'expired' | 'consumed' | 'refused';

/** A line of the audit log. A line never changes before its session is deleted (`Store.deleteSession`). */
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
  /** The reason of the user, or what was wrong with a refused answer. */
  reason: string | null;
  /** For a decision of the application: its name and the person. For a completed sign-in: `sign-in` and the user. Absent on other lines. */
  by?: DecidedBy;
}

/** The application that made a decision (`sign-in` for a completed sign-in), and the person in whose name it did so. */
export interface DecidedBy {
  application: string;
  person: string;
}

/** An audit line as a caller adds it. The store adds the time, the session and the user. */
export type AuditEntry = Omit<AuditLine, 'at' | 'sessionId' | 'user'>;

/** A request for a page of the audit lines of a session, counted from the newest. */
export interface AuditPageRequest {
  /** `AuditPage.older` of a page: the lines before that page are requested. Without it, the page ends with the newest line. */
  before?: number | undefined;
  /** The largest number of lines. */
  count: number;
  /** The largest size of the page in bytes; a store counts at least the arguments and reasons. One line always fits, whatever its size. */
  bytes: number;
}

/** Audit lines, oldest first. */
export interface AuditPage {
  lines: AuditLine[];
  /** The cursor of the page with older lines; null when this page begins with the oldest line. */
  older: number | null;
}

/** A change of the status of a call, if the call still has the status `from`. A field for which the change has no value stays as it is. */
export interface CallMove {
  id: string;
  from: CallStatus;
  to: CallStatus;
  reason?: string | null;
  expiresAt?: number | null;
  /** The JSON value that the user sent to the tool with the decision. */
  answer?: unknown;
  /** The question of a tool that asks the user while it runs, and the approval id under which the user's answer is found. */
  asks?: { approvalId: string; question: Question };
}

/** A request with a `requestId` that the server has accepted. The store keeps it, so that the server ignores the request when a client repeats it. */
export interface AcceptedRequest {
  requestId: string;
  /** The id of the message in which the agent answers the request; null when there is no such message. */
  messageId: string | null;
  /** How many parts that message had before the request. */
  parts: number;
}

/** The largest number of accepted requests that a store keeps for a session. The store removes the oldest one to add another. */
export const MAX_REQUESTS = 256;

/** A user's decision about a call. */
export interface Decision {
  id: string;
  to: 'approved' | 'denied';
  reason: string | null;
  /** The JSON value that the user sent to the tool with the decision. */
  answer?: unknown;
}

/** A queued user message. */
export interface WaitingMessage {
  message: Message;
  /** The id that was chosen for the message of the agent that will answer; null when none was chosen. */
  answerId: string | null;
}

/**
 * Keeps everything that outlives the process: sessions, their events, messages, calls and audit lines. Every method is one transaction. Only the rows of a
 * deleted session may be removed in several transactions, once readers no longer find the session. Times are milliseconds since 1970 and come from the clock
 * of the store. A session has one owner at a time. A write with an `OwnedKey` carries the owner's fence. If the session has another fence, the method writes
 * nothing and throws `StaleFence`. Decisions, audit lines, titles and the removal of a session need no owner. `events` are added to the outbox in the same
 * transaction, if the write happens.
 */
export interface Store extends ArtifactStore, OutboxStore {
  /**
   * Creates a session. Throws a `StoreError` when it exists already. An application that prepares a session with state should also give it a title
   * (`renameSession`): some minutes after the last connection of a session without messages and title closes, the server removes the session and its state
   * (rule S28 of PROTOCOL.md).
   */
  createSession(
    key: SessionKey,
    state: Record<string, unknown>,
    events?: readonly OutboxEvent[],
  ): Promise<StoredSession>;
  /** The session with its newest events, or with all of them when no limits are given. Null when the session does not exist. */
  loadSession(key: SessionKey, limits?: HistoryLimits): Promise<StoredSession | null>;
  /** A part of the events, and the number of all events; null when the session does not exist. */
  loadEvents(key: SessionKey, request: EventRequest): Promise<{ events: Event[]; count: number } | null>;
  /** Makes the caller the owner, and returns the key with its new fence. The previous owner can no longer write. Null when the session does not exist. */
  own(key: SessionKey): Promise<OwnedKey | null>;
  /** The summary of a session; null when the session does not exist. */
  findSession(key: SessionKey): Promise<SessionSummary | null>;
  /**
   * The user's sessions, last used first; those used in the same millisecond by id. Without `page`, all sessions; with it, a page of those sessions that have a
   * title or a message. The cost of a page does not depend on how many other sessions there are.
   */
  listSessions(app: string, user: string, page?: ListRequest): Promise<ListedSession[]>;
  /**
   * A page of the sessions of all users of an app that have a title or a message, last used first; those used in the same millisecond in an order that stays the
   * same. Only this store can read its cursors. The cost of a page does not depend on how many other sessions there are. Throws a `StoreError` for an invalid
   * cursor.
   */
  listAllSessions(app: string, page: AllSessionsRequest): Promise<AllSessionsPage>;
  /** How many bytes the events, messages, files and artifacts of a session have; 0 when the session does not exist. */
  sessionBytes(key: SessionKey): Promise<number>;
  /** Sets the title, or removes it when `title` is null. False when the session does not exist. */
  renameSession(key: SessionKey, title: string | null): Promise<boolean>;
  /**
   * Removes a session with its events, messages, calls, files and artifacts, but not the artifacts of its user. Its audit lines stay, but their `args` and
   * `reason` become null; only `refused` lines without a tool name, about answers that belonged to no call, are removed. False when the session does not exist.
   */
  deleteSession(key: SessionKey, events?: readonly OutboxEvent[]): Promise<boolean>;

  /**
   * Adds an event, or replaces the event with the same id. In the same transaction the method applies the state delta of the event, gives the recorded calls
   * that the event answers the status `settled`, and stores the request `accepted`. `seen` is the state that the caller had read. If the store now has another
   * value for a key of the delta, in any scope, the method writes nothing and throws `StateConflict`. It throws a `StoreError` when the
   * session does not exist. The methods below store `accepted` in the same way.
   */
  appendEvent(
    key: OwnedKey,
    event: Event,
    seen?: Record<string, unknown>,
    accepted?: AcceptedRequest,
    events?: readonly OutboxEvent[],
  ): Promise<void>;

  /**
   * Adds a message at the end, or replaces the message with the same id at its place. A message of the agent also removes the user messages before it from the
   * queue of waiting messages, because the agent has answered them.
   */
  putMessage(
    key: OwnedKey,
    message: Message,
    accepted?: AcceptedRequest,
    events?: readonly OutboxEvent[],
  ): Promise<void>;
  /** All messages, however many. Only exports and tests use it; the server reads pages and single messages otherwise. */
  loadMessages(key: SessionKey): Promise<Message[]>;
  /** One message; null when the session does not have it. */
  loadMessage(key: SessionKey, messageId: string): Promise<Message | null>;
  /** The last messages, or the last ones before a given message; null when the session does not have that message. */
  loadPage(key: SessionKey, page: PageRequest): Promise<Page | null>;
  /** Removes a message and all after it; false when the session does not have it. */
  truncateMessages(key: OwnedKey, messageId: string): Promise<boolean>;

  /** Adds a user message to the end of the queue. It is not yet one of the session's messages. */
  addWaiting(key: OwnedKey, waiting: WaitingMessage, accepted?: AcceptedRequest): Promise<void>;
  /** The queued messages, in order. A message stays in the queue until its answer is stored, even when `putMessage` has already stored the message itself. */
  waitingMessages(key: SessionKey): Promise<WaitingMessage[]>;

  /** Records calls, with an `issued` audit line for each that asks the user something. Only then the server asks the user or starts a tool. */
  issueCalls(key: OwnedKey, calls: CallRecord[]): Promise<void>;
  /** The calls of a session that are not settled, in the order of issue. */
  openCalls(key: SessionKey): Promise<CallRecord[]>;
  /** A call by approval id or by call id; null when the session does not have it. */
  findCall(key: SessionKey, id: { approvalId: string } | { id: string }): Promise<CallRecord | null>;
  /**
   * The calls with this id in all sessions of an app, at most two: a caller that gets two knows that the id is not unique, because models make call ids. A store
   * needs an index for this query.
   */
  findCalls(app: string, id: { approvalId: string } | { id: string }): Promise<FoundCall[]>;
  /** Moves a call if it still has the status `from`, and writes the audit line in the same transaction. Null when the call does not have that status. */
  moveCall(
    key: OwnedKey,
    move: CallMove,
    line: AuditEntry | null,
    accepted?: AcceptedRequest,
    events?: readonly OutboxEvent[],
  ): Promise<CallRecord | null>;
  /** Decides a call that is `requested`, and writes the audit line in the same transaction. Null when the call does not have that status. */
  decideCall(
    key: SessionKey,
    decision: Decision,
    line: AuditEntry,
    accepted?: AcceptedRequest,
    events?: readonly OutboxEvent[],
  ): Promise<CallRecord | null>;
  /** Adds a line to the audit log. If the session does not exist, the line is stored without the arguments of the call (`args`). */
  audit(key: SessionKey, line: AuditEntry): Promise<void>;
  /** A page of the audit lines of a session, which outlive the session. A session without lines has an empty page. */
  loadAuditPage(key: SessionKey, page: AuditPageRequest): Promise<AuditPage>;

  /** Records an accepted request. A request with the same `requestId` is replaced, and becomes the newest. */
  acceptRequest(key: OwnedKey, accepted: AcceptedRequest): Promise<void>;
  /** The newest accepted requests of a session, at most `MAX_REQUESTS`, oldest first. */
  acceptedRequests(key: SessionKey): Promise<AcceptedRequest[]>;

  /** Stores a file of the session under the given id. */
  putFile(key: OwnedKey, id: string, file: { mediaType: string; bytes: Uint8Array }): Promise<void>;
  /** A file of the session; null when the session does not have it. */
  loadFile(key: SessionKey, id: string): Promise<{ mediaType: string; bytes: Uint8Array } | null>;

  close(): Promise<void>;
}

/** Thrown when state that a tool changed has changed in the store since the tool read it. */
export class StateConflict extends Error {
  override readonly name = 'StateConflict';
}

/** Thrown when a write is impossible: a session to be created exists, a session to be written to does not exist, or a value cannot be stored. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError';
}

/** Thrown when the store is unavailable, full or read-only: nothing was written, and the same write may succeed later. */
export class StoreUnavailable extends StoreError {
  override readonly name = 'StoreUnavailable';
}

/** Thrown when the writer does not own the session, or no longer does. Nothing was written. */
export class StaleFence extends StoreError {
  override readonly name = 'StaleFence';

  constructor(key: SessionKey) {
    super(`The session ${key.id} has another owner now: nothing was written.`);
  }
}

/** A session that was just created, and its key with the fence of its first owner. */
export interface NewSession {
  key: OwnedKey;
  session: StoredSession;
}

/** A process that shares the store with other processes. */
export interface NodePlace {
  /** A name that no other process has or had. */
  name: string;
  /** The address at which the other processes reach this one: `http://host:port`. */
  address: string;
}

/** The owner of a session: the node that asked became the owner (`mine`), or another living node is (`elsewhere`). */
export type Acquired =
  | { kind: 'mine'; key: OwnedKey }
  | { kind: 'elsewhere'; node: NodePlace; fence: number };

/**
 * The directory of the nodes that share a store: which nodes are alive, and which node owns a session. A node is alive until its lease ends, by the clock of
 * the store. The directory only serves to find the owner: the fence prevents a node from writing to a session that another node has taken over.
 */
export interface NodeDirectory {
  /** Makes the lease of a node end `leaseMs` from now. False when the node had no lease: it is new, or its lease had ended. */
  renew(node: NodePlace, leaseMs: number): Promise<boolean>;
  /** The nodes that are alive, and the time of the store: milliseconds since 1970. */
  living(): Promise<{ nodes: NodePlace[]; now: number }>;
  /**
   * Makes a node the owner of a session, unless another node that is alive owns it. `suspect`, unless null, is the fence of an owner that the caller knows to
   * be dead: the node becomes the owner even if the lease of that owner lasts. Null when the session does not exist.
   */
  acquire(key: SessionKey, node: string, suspect: number | null): Promise<Acquired | null>;
  /**
   * Creates a session and makes a node its owner, in one transaction, so that no other process can have written to the session. Throws a `StoreError` when the
   * session exists.
   */
  create(key: SessionKey, node: string, events?: readonly OutboxEvent[]): Promise<NewSession>;
  /** Gives up the ownership of a session; does nothing when another node owns it. */
  release(key: OwnedKey): Promise<void>;
  /** Returns the keys whose session still has the same owner. */
  stillOwned(keys: readonly OwnedKey[]): Promise<OwnedKey[]>;
  /** Stores a command for another node, which reads it by its id. A command is kept for a minute, unless it is removed before. */
  putCommand(id: string, data: string): Promise<void>;
  /** The command with this id; null when there is none. */
  findCommand(id: string): Promise<string | null>;
  removeCommand(id: string): Promise<void>;
  /** Removes a node, and its ownership of all sessions. */
  leave(name: string): Promise<void>;
}

/** A store that several nodes may use at once. */
export interface SharedStore extends Store {
  readonly nodes: NodeDirectory;
  /**
   * The newest state that all sessions of the app share, and that all sessions of the user share; other nodes change it too. Null when the session no longer
   * exists, or has another owner.
   */
  sharedState(key: OwnedKey): Promise<Record<string, unknown> | null>;
}
