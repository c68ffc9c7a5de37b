import { randomUUID } from 'node:crypto';
import type { Event } from '@google/adk';
import type { Message } from '../../protocol/index.ts';
import { answeredCalls, eventToJson, toJson } from '../store/json.ts';
import type { Acquired, NodeDirectory, SharedStore } from '../store/nodes.ts';
import {
  type AuditRow,
  auditLineOf,
  type CallRow,
  callOf,
  type ListedRow,
  listedOf,
  orNull,
  type RequestRow,
  requestOf,
  type SessionRow,
  summaryOf,
} from '../store/rows.ts';
import { decisionMove, issuedLine, lastUsedFirst, noSuchSession, recordedAlready } from '../store/rules.ts';
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
  StaleFence,
  StateConflict,
  type StoredSession,
  StoreError,
  type WaitingMessage,
} from '../store/store.ts';
import { toText } from '../store/text.ts';
import { codeOf, type Database, inWords, type Value } from './database.ts';
import { statementsIn } from './statements.ts';
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

interface LoadedRow extends SessionRow {
  events: string | null;
  session: string | null;
  user: string | null;
  app: string | null;
}

/** What is kept in one schema of a PostgreSQL database. */
export class PostgresStore implements SharedStore {
  readonly #db: Database;
  readonly #schema: string;
  readonly #url: string;
  readonly #sql: ReturnType<typeof statementsIn>;
  readonly #now: () => number | null;

  readonly nodes: NodeDirectory = {
    renew: ({ name, address }, leaseMs) => this.#nodeValue('renew_node', [name, address, leaseMs]),
    living: async () => {
      const rows = await this.#read<{ name: string | null; address: string; now: number }>('living', []);
      const nodes = rows.flatMap(({ name, address }) => (name === null ? [] : { name, address }));
      return { nodes, now: rows[0]?.now ?? Number.NaN };
    },
    acquire: (key, node, suspect) => this.#acquire(key, node, suspect),
    release: (key) => this.#call(key, 'release', [nameIn(key), key.fence]),
    stillOwned: async (keys) => {
      const rows = await this.#read<{ fence: number }>('fences', [keys.map(nameIn)]);
      // No two sessions ever have the same fence.
      const fences = new Set(rows.map(({ fence }) => fence));
      return keys.filter(({ fence }) => fences.has(fence));
    },
    leave: (name) => this.#nodeValue('leave_node', [name]),
  };

  constructor(db: Database, schema: string, url: string, now: (() => number) | undefined) {
    this.#db = db;
    this.#schema = schema;
    this.#url = url;
    this.#sql = statementsIn(schema);
    this.#now = now ?? (() => null);
  }

  async createSession(key: SessionKey, state: Record<string, unknown>): Promise<StoredSession> {
    await this.#call(key, 'create_session', [
      nameIn(key),
      ownerIn(key),
      toText(key.app),
      toText(key.user),
      toText(key.id),
      this.#now(),
      randomUUID(),
      ...deltaIn(key, state),
    ]);
    return (await this.loadSession(key)) ?? raise(noSuchSession(key));
  }

  async loadSession(key: SessionKey): Promise<StoredSession | null> {
    const [row] = await this.#read<LoadedRow>('load', [nameIn(key), ownerIn(key), appIn(key)]);
    return row ? { ...summaryOf(row), state: stateOf(row), events: listOf<Event>(row.events) } : null;
  }

  async own(key: SessionKey): Promise<OwnedKey | null> {
    const fence = await this.#value<number | null>(key, 'own', [nameIn(key)]);
    return orNull(fence, (own) => ({ app: key.app, user: key.user, id: key.id, fence: own }));
  }

  async findSession(key: SessionKey): Promise<SessionSummary | null> {
    const [row] = await this.#read<SessionRow>('find', [nameIn(key)]);
    return row ? summaryOf(row) : null;
  }

  async listSessions(app: string, user: string): Promise<ListedSession[]> {
    const rows = await this.#read<ListedRow>('list', [ownerIn({ app, user }), this.#now()]);
    return lastUsedFirst(rows.map(listedOf));
  }

  async renameSession(key: SessionKey, title: string | null): Promise<boolean> {
    return (await this.#read('rename', [nameIn(key), orNull(title, toText)])).length > 0;
  }

  async deleteSession(key: SessionKey): Promise<boolean> {
    const { rows, again } = await this.#run<{ value: boolean }>(key, 'delete_session', [nameIn(key)]);
    // Gone when it is asked again: then it was this that removed it.
    return again || rows[0]?.value === true;
  }

  async appendEvent(
    key: OwnedKey,
    event: Event,
    seen?: Record<string, unknown>,
    accepted?: AcceptedRequest,
  ): Promise<void> {
    const delta = event.actions?.stateDelta ?? {};
    await this.#call(key, 'append_event', [
      ...this.#owned(key),
      randomUUID(),
      toText(event.id),
      eventToJson(event),
      answeredCalls(event).map(toText),
      ...deltaIn(key, delta),
      seenIn(key, delta, seen),
      ...acceptedIn(accepted),
    ]);
  }

  async putMessage(key: OwnedKey, message: Message, accepted?: AcceptedRequest): Promise<void> {
    const { metadata } = message;
    await this.#call(key, 'put_message', [
      ...this.#owned(key),
      toText(message.id),
      toJson(message, 'The message'),
      metadata?.failed === true || metadata?.cutOff === true,
      message.role === 'assistant',
      ...acceptedIn(accepted),
    ]);
  }

  async loadMessages(key: SessionKey): Promise<Message[]> {
    const [row] = await this.#read<{ messages: string | null }>('messages', [nameIn(key)]);
    return listOf<Message>(row?.messages ?? null);
  }

  async loadPage(key: SessionKey, { before, count, bytes }: PageRequest): Promise<Page | null> {
    const place = before === undefined ? null : toText(before);
    const [row] = await this.#read<{ found: boolean; messages: string | null; has_older: boolean }>('page', [
      nameIn(key),
      place,
      count,
      bytes,
    ]);
    if (!row?.found) return null;
    return { messages: listOf<Message>(row.messages), hasOlder: row.has_older };
  }

  async truncateMessages(key: OwnedKey, messageId: string): Promise<boolean> {
    const values = [...this.#owned(key), randomUUID(), toText(messageId)];
    return this.#value<boolean>(key, 'truncate_messages', values);
  }

  async addWaiting(key: OwnedKey, waiting: WaitingMessage, accepted?: AcceptedRequest): Promise<void> {
    await this.#call(key, 'add_waiting', [
      ...this.#owned(key),
      toText(waiting.message.id),
      toJson(waiting, 'The message'),
      ...acceptedIn(accepted),
    ]);
  }

  async waitingMessages(key: SessionKey): Promise<WaitingMessage[]> {
    const [row] = await this.#read<{ waiting: string | null }>('waiting', [nameIn(key)]);
    return listOf<WaitingMessage>(row?.waiting ?? null);
  }

  async issueCalls(key: OwnedKey, calls: CallRecord[]): Promise<void> {
    const asking = calls.filter((call) => call.approvalId !== null);
    const lines = asking.map((call) => lineIn(key, issuedLine(call)));
    await this.#call(key, 'issue_calls', [
      ...this.#owned(key),
      randomUUID(),
      callsIn(calls),
      JSON.stringify(lines),
    ]);
  }

  async openCalls(key: SessionKey): Promise<CallRecord[]> {
    return (await this.#read<CallRow>('openCalls', [nameIn(key)])).map(callOf);
  }

  async findCall(key: SessionKey, id: { approvalId: string } | { id: string }): Promise<CallRecord | null> {
    const [row] =
      'id' in id
        ? await this.#read<CallRow>('callById', [nameIn(key), toText(id.id)])
        : await this.#read<CallRow>('callByApproval', [nameIn(key), toText(id.approvalId)]);
    return row ? callOf(row) : null;
  }

  async moveCall(
    key: OwnedKey,
    move: CallMove,
    line: AuditEntry | null,
    accepted?: AcceptedRequest,
  ): Promise<CallRecord | null> {
    return this.#move(key, key.fence, move, line, accepted);
  }

  async decideCall(
    key: SessionKey,
    decision: Decision,
    line: AuditEntry,
    accepted?: AcceptedRequest,
  ): Promise<CallRecord | null> {
    return this.#move(key, null, decisionMove(decision), line, accepted);
  }

  async audit(key: SessionKey, line: AuditEntry): Promise<void> {
    const text = JSON.stringify(lineIn(key, line));
    await this.#call(key, 'add_line', [nameIn(key), this.#now(), text, randomUUID()]);
  }

  async auditLog(key: SessionKey): Promise<AuditLine[]> {
    return (await this.#read<AuditRow>('auditLines', [nameIn(key)])).map(auditLineOf);
  }

  async acceptRequest(key: OwnedKey, accepted: AcceptedRequest): Promise<void> {
    await this.#call(key, 'accept_request', [nameIn(key), key.fence, ...acceptedIn(accepted)]);
  }

  async acceptedRequests(key: SessionKey): Promise<AcceptedRequest[]> {
    return (await this.#read<RequestRow>('requests', [nameIn(key)])).map(requestOf);
  }

  async putFile(key: OwnedKey, id: string, file: { mediaType: string; bytes: Uint8Array }): Promise<void> {
    // A copy: it may be sent again, and what the caller does to its own meanwhile changes nothing.
    const bytes = Buffer.from(file.bytes);
    await this.#call(key, 'put_file', [nameIn(key), key.fence, toText(id), toText(file.mediaType), bytes]);
  }

  async loadFile(key: SessionKey, id: string): Promise<{ mediaType: string; bytes: Uint8Array } | null> {
    const [row] = await this.#read<{ media_type: string; bytes: Uint8Array }>('file', [
      nameIn(key),
      toText(id),
    ]);
    return row ? { mediaType: row.media_type, bytes: new Uint8Array(row.bytes) } : null;
  }

  close(): Promise<void> {
    return this.#db.close();
  }

  /** What the functions for owners begin with. */
  #owned(key: OwnedKey): [name: string, fence: number, at: number | null] {
    return [nameIn(key), key.fence, this.#now()];
  }

  async #move(
    key: SessionKey,
    fence: number | null,
    move: CallMove,
    line: AuditEntry | null,
    accepted: AcceptedRequest | undefined,
  ): Promise<CallRecord | null> {
    const { rows } = await this.#run<CallRow>(key, 'move_call', [
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
    ]);
    return rows[0] ? callOf(rows[0]) : null;
  }

  async #acquire(key: SessionKey, node: string, suspect: number | null): Promise<Acquired | null> {
    const { rows } = await this.#run<{ fence: number; node: string; address: string | null }>(
      key,
      'acquire',
      [nameIn(key), node, suspect],
    );
    const [row] = rows;
    if (!row) return null;
    const { fence, address } = row;
    if (address !== null) return { kind: 'elsewhere', node: { name: row.node, address }, fence };
    return { kind: 'mine', key: { app: key.app, user: key.user, id: key.id, fence } };
  }

  async #read<Row extends object>(
    name: keyof ReturnType<typeof statementsIn>,
    values: Value[],
  ): Promise<Row[]> {
    try {
      return (await this.#db.query<Row>(`duologue ${name}`, this.#sql[name], values)).rows;
    } catch (error) {
      throw this.#translated(error);
    }
  }

  async #nodeValue<T>(name: string, values: Value[]): Promise<T> {
    return ((await this.#run<{ value: T }>(null, name, values)).rows[0] as { value: T }).value;
  }

  async #call(key: SessionKey, name: string, values: Value[]): Promise<void> {
    await this.#run(key, name, values);
  }

  async #value<T>(key: SessionKey, name: string, values: Value[]): Promise<T> {
    return ((await this.#run<{ value: T }>(key, name, values)).rows[0] as { value: T }).value;
  }

  /** Calls a function of the schema. */
  async #run<Row extends object>(
    key: SessionKey | null,
    name: string,
    values: Value[],
  ): Promise<{ rows: Row[]; again: boolean }> {
    const places = values.map((_, index) => `$${index + 1}`).join(', ');
    try {
      const text = `select * from ${this.#schema}.${name}(${places}) as value`;
      return await this.#db.query<Row>(`duologue ${name}`, text, values);
    } catch (error) {
      throw this.#translated(error, key);
    }
  }

  #translated(error: unknown, key: SessionKey | null = null): Error {
    if (error instanceof StoreError) return error;
    const code = codeOf(error);
    if (key && code === 'DL001') return new StaleFence(key);
    if (key && code === 'DL002') return noSuchSession(key);
    if (key && code === 'DL003') return new StoreError(`The session ${key.id} exists.`);
    if (code === 'DL004') return new StateConflict(`Changed meanwhile: ${(error as Error).message}`);
    if (code === '23505') return recordedAlready('call or approval');
    return new StoreError(inWords(error, this.#url), { cause: error });
  }
}

function raise(error: Error): never {
  throw error;
}
