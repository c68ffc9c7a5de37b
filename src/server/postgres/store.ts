import { randomUUID } from 'node:crypto';
import type { Event } from '@google/adk';
import type { Message } from '../../protocol/index.ts';
import { allSessionsPage, foundCallOf, placeOfCursor, type UserListedRow } from '../store/over-sessions.ts';
import {
  type AuditRow,
  answeredCalls,
  auditLineOf,
  type CallRow,
  callOf,
  decisionMove,
  eventToJson,
  fromJson,
  isQuestion,
  issuedLine,
  type ListedRow,
  listedOf,
  noSuchSession,
  orNull,
  type RequestRow,
  requestOf,
  type SessionRow,
  summaryOf,
  toJson,
  toText,
} from '../store/rules.ts';
import type {
  AcceptedRequest,
  AllSessionsPage,
  AllSessionsRequest,
  ArtifactContent,
  ArtifactInfo,
  ArtifactStore,
  AuditEntry,
  AuditPage,
  AuditPageRequest,
  CallMove,
  CallRecord,
  Decision,
  EventRequest,
  FoundCall,
  HistoryLimits,
  ListedSession,
  ListRequest,
  NodeDirectory,
  OutboxEvent,
  OwnedKey,
  Page,
  PageRequest,
  SessionKey,
  SessionSummary,
  SharedStore,
  StoredSession,
  WaitingMessage,
} from '../store/store.ts';
import { postgresArtifacts } from './artifacts.ts';
import type { Database } from './database.ts';
import { nodeDirectory } from './node-directory.ts';
import { PostgresOutbox } from './outbox.ts';
import { type KeptEvents, keptIn, SchemaCalls } from './schema-calls.ts';
import {
  acceptedIn,
  appIn,
  callsIn,
  deltaIn,
  lineIn,
  listOf,
  nameIn,
  ownerIn,
  seenIn,
  stateOf,
} from './values.ts';

type FoundRow = Parameters<typeof foundCallOf>[1];

interface LoadedRow extends SessionRow {
  events: string | null;
  has_older: boolean;
  session: string | null;
  user: string | null;
  app: string | null;
}

/** A move of a call, and the audit line, the accepted request and the outbox events that are stored with it. */
interface Move {
  move: CallMove;
  line: AuditEntry | null;
  accepted: AcceptedRequest | undefined;
  events: readonly OutboxEvent[] | undefined;
}

/** A store in one schema of a PostgreSQL database, which several nodes may share. */
export class PostgresStore extends PostgresOutbox implements SharedStore {
  readonly #db: Database;
  readonly #calls: SchemaCalls;
  readonly #now: () => number | null;

  readonly nodes: NodeDirectory;
  readonly #artifacts: ArtifactStore;

  constructor(db: Database, schema: string, url: string, now: (() => number) | undefined) {
    const calls = new SchemaCalls(db, schema, url);
    super(calls, now ?? (() => null));
    this.#db = db;
    this.#calls = calls;
    this.#now = now ?? (() => null);
    this.nodes = nodeDirectory(this.#calls, this.#now);
    this.#artifacts = postgresArtifacts(this.#calls);
  }

  async createSession(
    key: SessionKey,
    state: Record<string, unknown>,
    events?: readonly OutboxEvent[],
  ): Promise<StoredSession> {
    const values = [
      nameIn(key),
      ownerIn(key),
      toText(key.app),
      toText(key.user),
      toText(key.id),
      this.#now(),
      randomUUID(),
      ...deltaIn(key, state),
    ];
    await this.#calls.call(key, 'create_session', values, this.#kept(key, events));
    return (await this.loadSession(key)) ?? raise(noSuchSession(key));
  }

  async loadSession(key: SessionKey, limits?: HistoryLimits): Promise<StoredSession | null> {
    const values = [nameIn(key), ownerIn(key), appIn(key), limits?.events ?? null, limits?.bytes ?? null];
    const [row] = await this.#calls.read<LoadedRow>('load', values);
    if (!row) return null;
    const stored = { ...summaryOf(row), state: stateOf(row), events: listOf<Event>(row.events) };
    return limits ? { ...stored, hasOlder: row.has_older } : stored;
  }

  async loadEvents(
    key: SessionKey,
    { from, events, bytes }: EventRequest,
  ): Promise<{ events: Event[]; count: number } | null> {
    const values = [nameIn(key), from, events, bytes];
    const [row] = await this.#calls.read<{ events: string | null; count: number }>('events', values);
    return row ? { events: listOf<Event>(row.events), count: row.count } : null;
  }

  async sharedState(key: OwnedKey): Promise<Record<string, unknown> | null> {
    const values = [nameIn(key), ownerIn(key), appIn(key), key.fence];
    const [row] = await this.#calls.read<Pick<LoadedRow, 'user' | 'app'>>('shared', values);
    return row ? stateOf({ session: null, ...row }) : null;
  }

  async own(key: SessionKey): Promise<OwnedKey | null> {
    const fence = await this.#calls.value<number | null>(key, 'own', [nameIn(key)]);
    return orNull(fence, (own) => ({ app: key.app, user: key.user, id: key.id, fence: own }));
  }

  async findSession(key: SessionKey): Promise<SessionSummary | null> {
    const [row] = await this.#calls.read<SessionRow>('find', [nameIn(key)]);
    return row ? summaryOf(row) : null;
  }

  async listSessions(app: string, user: string, page?: ListRequest): Promise<ListedSession[]> {
    const values = [
      ownerIn({ app, user }),
      this.#now(),
      page?.after?.updatedAt ?? Number.MAX_SAFE_INTEGER,
      toText(page?.after?.id ?? ''),
      page?.count ?? null,
    ];
    return (await this.#calls.read<ListedRow>('list', values)).map(listedOf);
  }

  async listAllSessions(app: string, { cursor, count }: AllSessionsRequest): Promise<AllSessionsPage> {
    const { updatedAt, n } = placeOfCursor(cursor);
    const values = [toText(app), this.#now(), updatedAt, n, count + 1];
    return allSessionsPage(await this.#calls.read<UserListedRow>('listAll', values), count);
  }

  async sessionBytes(key: SessionKey): Promise<number> {
    const [row] = await this.#calls.read<{ size: number }>('bytes', [nameIn(key)]);
    return row?.size ?? 0;
  }

  async renameSession(key: SessionKey, title: string | null): Promise<boolean> {
    return (await this.#calls.read('rename', [nameIn(key), orNull(title, toText)])).length > 0;
  }

  async deleteSession(key: SessionKey, events?: readonly OutboxEvent[]): Promise<boolean> {
    const kept = this.#kept(key, events);
    const { rows, again } = await this.#calls.run<{ value: boolean }>(
      key,
      'delete_session',
      [nameIn(key)],
      kept && { ...kept, ifTrue: true },
    );
    // A repeated statement may not find the session, because the first attempt has removed it. So the removal has succeeded.
    return again || rows[0]?.value === true;
  }

  async appendEvent(
    key: OwnedKey,
    event: Event,
    seen?: Record<string, unknown>,
    accepted?: AcceptedRequest,
    events?: readonly OutboxEvent[],
  ): Promise<void> {
    const delta = event.actions?.stateDelta ?? {};
    const values = [
      ...this.#owned(key),
      randomUUID(),
      toText(event.id),
      eventToJson(event),
      answeredCalls(event).map(toText),
      ...deltaIn(key, delta),
      seenIn(key, delta, seen),
      ...acceptedIn(accepted),
    ];
    await this.#calls.call(key, 'append_event', values, this.#kept(key, events));
  }

  async putMessage(
    key: OwnedKey,
    message: Message,
    accepted?: AcceptedRequest,
    events?: readonly OutboxEvent[],
  ): Promise<void> {
    const { metadata } = message;
    const values = [
      ...this.#owned(key),
      toText(message.id),
      toJson(message, 'The message'),
      metadata?.failed === true || metadata?.cutOff === true,
      message.role === 'assistant',
      ...acceptedIn(accepted),
    ];
    await this.#calls.call(key, 'put_message', values, this.#kept(key, events));
  }

  async loadMessages(key: SessionKey): Promise<Message[]> {
    const [row] = await this.#calls.read<{ messages: string | null }>('messages', [nameIn(key)]);
    return listOf<Message>(row?.messages ?? null);
  }

  async loadMessage(key: SessionKey, messageId: string): Promise<Message | null> {
    const [row] = await this.#calls.read<{ data: string }>('message', [nameIn(key), toText(messageId)]);
    return row ? fromJson<Message>(row.data) : null;
  }

  async loadPage(key: SessionKey, { before, count, bytes }: PageRequest): Promise<Page | null> {
    const place = before === undefined ? null : toText(before);
    const [row] = await this.#calls.read<{ found: boolean; messages: string | null; has_older: boolean }>(
      'page',
      [nameIn(key), place, count, bytes],
    );
    if (!row?.found) return null;
    return { messages: listOf<Message>(row.messages), hasOlder: row.has_older };
  }

  async truncateMessages(key: OwnedKey, messageId: string): Promise<boolean> {
    const values = [...this.#owned(key), randomUUID(), toText(messageId)];
    return this.#calls.value<boolean>(key, 'truncate_messages', values);
  }

  async addWaiting(key: OwnedKey, waiting: WaitingMessage, accepted?: AcceptedRequest): Promise<void> {
    await this.#calls.call(key, 'add_waiting', [
      ...this.#owned(key),
      toText(waiting.message.id),
      toJson(waiting, 'The message'),
      ...acceptedIn(accepted),
    ]);
  }

  async waitingMessages(key: SessionKey): Promise<WaitingMessage[]> {
    const [row] = await this.#calls.read<{ waiting: string | null }>('waiting', [nameIn(key)]);
    return listOf<WaitingMessage>(row?.waiting ?? null);
  }

  async issueCalls(key: OwnedKey, calls: CallRecord[]): Promise<void> {
    const asking = calls.filter(isQuestion);
    const lines = asking.map((call) => lineIn(key, issuedLine(call)));
    await this.#calls.call(key, 'issue_calls', [
      ...this.#owned(key),
      randomUUID(),
      callsIn(calls),
      JSON.stringify(lines),
    ]);
  }

  async openCalls(key: SessionKey): Promise<CallRecord[]> {
    return (await this.#calls.read<CallRow>('openCalls', [nameIn(key)])).map(callOf);
  }

  async findCall(key: SessionKey, id: { approvalId: string } | { id: string }): Promise<CallRecord | null> {
    const [row] =
      'id' in id
        ? await this.#calls.read<CallRow>('callById', [nameIn(key), toText(id.id)])
        : await this.#calls.read<CallRow>('callByApproval', [nameIn(key), toText(id.approvalId)]);
    return row ? callOf(row) : null;
  }

  async findCalls(app: string, id: { approvalId: string } | { id: string }): Promise<FoundCall[]> {
    const rows =
      'id' in id
        ? await this.#calls.read<FoundRow>('callsById', [toText(app), toText(id.id)])
        : await this.#calls.read<FoundRow>('callsByApproval', [toText(app), toText(id.approvalId)]);
    return rows.map((row) => foundCallOf(app, row));
  }

  async moveCall(
    key: OwnedKey,
    move: CallMove,
    line: AuditEntry | null,
    accepted?: AcceptedRequest,
    events?: readonly OutboxEvent[],
  ): Promise<CallRecord | null> {
    return this.#move(key, key.fence, { move, line, accepted, events });
  }

  async decideCall(
    key: SessionKey,
    decision: Decision,
    line: AuditEntry,
    accepted?: AcceptedRequest,
    events?: readonly OutboxEvent[],
  ): Promise<CallRecord | null> {
    return this.#move(key, null, { move: decisionMove(decision), line, accepted, events });
  }

  async audit(key: SessionKey, line: AuditEntry): Promise<void> {
    const text = JSON.stringify(lineIn(key, line));
    await this.#calls.call(key, 'add_line', [nameIn(key), this.#now(), text, randomUUID()]);
  }

  async loadAuditPage(key: SessionKey, page: AuditPageRequest): Promise<AuditPage> {
    const { before = Number.MAX_SAFE_INTEGER, count, bytes } = page;
    const rows = await this.#calls.read<AuditRow & { n: number; has_older: boolean }>('auditPage', [
      nameIn(key),
      before,
      count,
      bytes,
    ]);
    const oldest = rows[0];
    return { lines: rows.map(auditLineOf), older: oldest?.has_older ? oldest.n : null };
  }

  async acceptRequest(key: OwnedKey, accepted: AcceptedRequest): Promise<void> {
    await this.#calls.call(key, 'accept_request', [nameIn(key), key.fence, ...acceptedIn(accepted)]);
  }

  async acceptedRequests(key: SessionKey): Promise<AcceptedRequest[]> {
    return (await this.#calls.read<RequestRow>('requests', [nameIn(key)])).map(requestOf);
  }

  async putFile(key: OwnedKey, id: string, file: { mediaType: string; bytes: Uint8Array }): Promise<void> {
    // Copy the bytes, because the statement may be sent again after the caller has changed them.
    const bytes = Buffer.from(file.bytes);
    await this.#calls.call(key, 'put_file', [
      nameIn(key),
      key.fence,
      toText(id),
      toText(file.mediaType),
      bytes,
    ]);
  }

  async loadFile(key: SessionKey, id: string): Promise<{ mediaType: string; bytes: Uint8Array } | null> {
    const [row] = await this.#calls.read<{ media_type: string; bytes: Uint8Array }>('file', [
      nameIn(key),
      toText(id),
    ]);
    return row ? { mediaType: row.media_type, bytes: new Uint8Array(row.bytes) } : null;
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

  close(): Promise<void> {
    return this.#db.close();
  }

  /** Events that are added to the outbox with a write. */
  #kept(key: SessionKey, events: readonly OutboxEvent[] | undefined): KeptEvents {
    return keptIn(key, this.#now(), events);
  }

  /** The first parameters of every function that only the owner may call. */
  #owned(key: OwnedKey): [name: string, fence: number, at: number | null] {
    return [nameIn(key), key.fence, this.#now()];
  }

  async #move(
    key: SessionKey,
    fence: number | null,
    { move, line, accepted, events }: Move,
  ): Promise<CallRecord | null> {
    const values = [
      nameIn(key),
      fence,
      this.#now(),
      randomUUID(),
      toText(move.id),
      move.from,
      move.to,
      move.reason !== undefined,
      orNull(move.reason ?? null, toText),
      move.expiresAt !== undefined,
      move.expiresAt ?? null,
      orNull(line, (entry) => JSON.stringify(lineIn(key, entry))),
      ...acceptedIn(accepted),
      move.answer === undefined ? null : toJson(move.answer, 'The answer'),
      orNull(move.asks?.approvalId ?? null, toText),
      orNull(move.asks?.question ?? null, (question) => toJson(question, 'The question')),
    ];
    const { rows } = await this.#calls.run<CallRow>(key, 'move_call', values, this.#kept(key, events));
    return rows[0] ? callOf(rows[0]) : null;
  }
}

function raise(error: Error): never {
  throw error;
}
