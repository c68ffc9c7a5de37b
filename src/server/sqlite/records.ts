import type { Message } from '../../protocol/index.ts';
import { foundCallOf } from '../store/over-sessions.ts';
import {
  type AuditRow,
  auditLineOf,
  type CallRow,
  callOf,
  fitting,
  fromJson,
  orNull,
  type RequestRow,
  recordedAlready,
  requestOf,
  toJson,
  toText,
} from '../store/rules.ts';
import {
  type AcceptedRequest,
  type AuditEntry,
  type AuditPage,
  type AuditPageRequest,
  type CallMove,
  type CallRecord,
  type FoundCall,
  MAX_REQUESTS,
  type Page,
  type PageRequest,
  type SessionKey,
  type WaitingMessage,
} from '../store/store.ts';
import type { Database } from './database.ts';
import { keyText } from './sessions.ts';

/** A table of JSON texts of sessions, each with an id, in the order in which they were added. */
export function documentTable<T>(db: Database, table: 'events' | 'messages' | 'waiting') {
  const put = db.prepare(
    `insert into ${table} (session, seq, id, data)
     values (?, (select coalesce(max(seq), 0) + 1 from ${table} where session = ?), ?, ?)
     on conflict (session, id) do update set data = excluded.data`,
  );
  const all = db.prepare<{ data: string }>(`select data from ${table} where session = ? order by seq`);
  const one = db.prepare<{ data: string }>(`select data from ${table} where session = ? and id = ?`);
  const place = db.prepare<{ seq: number }>(`select seq from ${table} where session = ? and id = ?`);
  const sizes = db.prepare<{ size: number }>(
    `select octet_length(data) as size from ${table} where session = ? and seq < ? order by seq desc limit ?`,
  );
  const before = db.prepare<{ data: string }>(
    `select data from ${table} where session = ? and seq < ? order by seq desc limit ?`,
  );
  const sizesFrom = db.prepare<{ size: number }>(
    `select octet_length(data) as size from ${table} where session = ? order by seq limit ? offset ?`,
  );
  const from = db.prepare<{ data: string }>(
    `select data from ${table} where session = ? order by seq limit ? offset ?`,
  );
  const countOf = db.prepare<{ count: number }>(`select count(*) as count from ${table} where session = ?`);

  return {
    /** Adds a text at the end, or replaces the text with the same id in its place. */
    put(session: number, id: string, json: string): void {
      put.run(session, session, toText(id), json);
    },
    all(session: number): T[] {
      return all.all(session).map((row) => fromJson<T>(row.data));
    },
    find(session: number, id: string): T | null {
      const row = one.first(session, toText(id));
      return row === undefined ? null : fromJson<T>(row.data);
    },
    count(session: number): number {
      return countOf.first(session)?.count ?? 0;
    },
    /** The documents from the index `start` on: at most `count`, and not more than `bytes` bytes, but at least one. */
    from(session: number, start: number, count: number, bytes: number): T[] {
      const found = sizesFrom.all(session, count, start).map(({ size }) => size);
      const fit = fitting(found, count, bytes);
      return from.all(session, fit, start).map((row) => fromJson<T>(row.data));
    },
    /** The last documents within the limits, or the last ones before a given document; null when that document does not exist. */
    last(
      session: number,
      { before: id, count, bytes }: { before?: string | undefined; count: number; bytes: number },
    ): { documents: T[]; hasOlder: boolean } | null {
      const cursor = id === undefined ? Number.MAX_SAFE_INTEGER : place.first(session, toText(id))?.seq;
      if (cursor === undefined) return null;
      const found = sizes.all(session, cursor, count + 1).map(({ size }) => size);
      const fit = fitting(found, count, bytes);
      const documents = before.all(session, cursor, fit).map((row) => fromJson<T>(row.data));
      return { documents: documents.reverse(), hasOlder: found.length > fit };
    },
  };
}

/** The table of the messages as the browser shows them. */
export function messageTable(db: Database) {
  const documents = documentTable<Message>(db, 'messages');
  const truncate = db.prepare(
    `delete from messages where session = ?
     and seq >= (select seq from messages where session = ? and id = ?)`,
  );

  return {
    ...documents,
    /** The last messages, or the last ones before a given message; null when that message does not exist. */
    page(session: number, request: PageRequest): Page | null {
      const found = documents.last(session, request);
      return found && { messages: found.documents, hasOlder: found.hasOlder };
    },
    /** Removes a message and all after it; false when the session does not have it. */
    truncate(session: number, id: string): boolean {
      return truncate.run(session, session, toText(id)) > 0;
    },
  };
}

/** The table of the queued messages. */
export function waitingTable(db: Database) {
  const answer = db.prepare(
    // The query begins with the queued messages, which are few, and not with all messages of the session.
    `delete from waiting where session = ? and exists (
       select 1 from messages where messages.session = waiting.session and messages.id = waiting.id
       and messages.seq < (select seq from messages where session = ? and id = ?)
     )`,
  );

  const any = db.prepare('select 1 from waiting where session = ? limit 1');
  const sessions = db.prepare<{ session: number }>('select distinct session from waiting');
  const table = documentTable<WaitingMessage>(db, 'waiting');
  // The sessions that may have queued messages. They are few, and the set avoids a query for every stored answer of another session.
  const mayWait = new Set(sessions.all().map(({ session }) => session));

  return {
    ...table,
    put(session: number, id: string, data: string): void {
      mayWait.add(session);
      table.put(session, id, data);
    },
    /** Removes from the queue the user messages that come before this message of the agent. */
    answeredBy(session: number, id: string): void {
      if (!mayWait.has(session)) return;
      if (any.first(session) === undefined) mayWait.delete(session);
      else answer.run(session, session, toText(id));
    },
  };
}

/** The table of the recorded tool calls. */
export function callTable(db: Database) {
  const add = db.prepare(
    `insert into calls (session, id, approval_id, tool_name, args, args_hash, runs_on, status, reason, message_id,
       agent, invocation_id, branch, issued_at, expires_at, question, answer, agents)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const open = db.prepare<CallRow>(
    `select * from calls where session = ? and status <> 'settled' order by n`,
  );
  const byId = db.prepare<CallRow>('select * from calls where session = ? and id = ?');
  const byApproval = db.prepare<CallRow>('select * from calls where session = ? and approval_id = ?');
  const anywhere = (column: 'id' | 'approval_id') =>
    db.prepare<CallRow & { session_user: string; session_id: string }>(
      `select calls.*, sessions.user as session_user, sessions.id as session_id
       from calls join sessions on sessions.n = calls.session where calls.${column} = ? and app = ? limit 2`,
    );
  const anywhereById = anywhere('id');
  const anywhereByApproval = anywhere('approval_id');
  const move = db.prepare('update calls set status = ? where session = ? and id = ? and status = ?');
  const setReason = db.prepare('update calls set reason = ? where session = ? and id = ?');
  const setExpiry = db.prepare('update calls set expires_at = ? where session = ? and id = ?');
  const setAnswer = db.prepare('update calls set answer = ? where session = ? and id = ?');
  const setQuestion = db.prepare(
    'update calls set approval_id = ?, question = ? where session = ? and id = ?',
  );
  const settle = db.prepare(`update calls set status = 'settled' where session = ? and id = ?`);

  const find = (session: number, id: { approvalId: string } | { id: string }): CallRecord | null => {
    const row =
      'id' in id ? byId.first(session, toText(id.id)) : byApproval.first(session, toText(id.approvalId));
    return row === undefined ? null : callOf(row);
  };

  return {
    find,
    /** At most two calls with this id, from all sessions of an app. */
    findAnywhere(app: string, id: { approvalId: string } | { id: string }): FoundCall[] {
      const rows =
        'id' in id
          ? anywhereById.all(toText(id.id), toText(app))
          : anywhereByApproval.all(toText(id.approvalId), toText(app));
      return rows.map((row) => foundCallOf(app, row));
    },
    /** Records a call. Throws when the call or its approval is already recorded. */
    add(session: number, call: CallRecord): void {
      const { id, approvalId } = call;
      if (find(session, { id }) !== null) throw recordedAlready(`call ${id}`);
      if (approvalId !== null && find(session, { approvalId }) !== null) {
        throw recordedAlready(`approval ${approvalId}`);
      }
      add.run(
        session,
        toText(id),
        orNull(approvalId, toText),
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
        orNull(call.question, (question) => toJson(question, 'The question')),
        orNull(call.answer, (answer) => toJson(answer, 'The answer')),
        orNull(call.agents ?? null, (agents) => toJson(agents, 'The agents')),
      );
    },
    /** The calls that are not settled, in the order of issue. */
    open(session: number): CallRecord[] {
      return open.all(session).map(callOf);
    },
    /** Moves a call and returns its new record; null when the call does not have the status `from`. */
    move(session: number, change: CallMove): CallRecord | null {
      const { id, from, to, reason, expiresAt, answer, asks } = change;
      if (move.run(to, session, toText(id), from) === 0) return null;
      if (reason !== undefined) setReason.run(orNull(reason, toText), session, toText(id));
      if (expiresAt !== undefined) setExpiry.run(expiresAt, session, toText(id));
      if (answer !== undefined) setAnswer.run(toJson(answer, 'The answer'), session, toText(id));
      if (asks !== undefined)
        setQuestion.run(toText(asks.approvalId), toJson(asks.question, 'The question'), session, toText(id));
      return find(session, { id });
    },
    settle(session: number, id: string): void {
      settle.run(session, toText(id));
    },
  };
}

/** The table of the newest accepted requests. */
export function requestTable(db: Database) {
  const add = db.prepare(
    `insert or replace into requests (session, seq, request_id, message_id, parts)
     values (?, (select coalesce(max(seq), 0) + 1 from requests where session = ?), ?, ?, ?)`,
  );
  const dropOldest = db.prepare(
    'delete from requests where session = ? and seq <= (select max(seq) from requests where session = ?) - ?',
  );
  const all = db.prepare<RequestRow>(
    'select request_id, message_id, parts from requests where session = ? order by seq',
  );

  return {
    add(session: number, { requestId, messageId, parts }: AcceptedRequest): void {
      add.run(session, session, toText(requestId), orNull(messageId, toText), parts);
      dropOldest.run(session, session, MAX_REQUESTS);
    },
    all(session: number): AcceptedRequest[] {
      return all.all(session).map(requestOf);
    },
  };
}

/** How many audit lines one transaction clears of arguments and reasons. More lines at once would block the event loop. */
const PIECE = 2000;

/** The table of the audit log. The lines have the key of their session, because the lines outlive the session. */
export function auditTable(db: Database) {
  const add = db.prepare(
    `insert into audit_lines (app, user, session_id, at, kind, approval_id, tool_call_id, tool_name, args_hash, args,
       reason, decided_by)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const before =
    'from audit_lines where app = ? and user = ? and session_id = ? and n < ? order by n desc limit ?';
  const sizes = db.prepare<{ size: number }>(
    `select coalesce(octet_length(args), 0) + coalesce(octet_length(reason), 0) as size ${before}`,
  );
  const newest = db.prepare<AuditRow & { n: number }>(`select * ${before}`);
  const last = db.prepare<{ n: number | null }>('select max(n) as n from audit_lines');
  const range = 'app = ? and user = ? and session_id = ? and n > ? and n <= ?';
  const endOfPiece = db.prepare<{ n: number | null }>(
    `select max(n) as n from (select n from audit_lines where ${range} order by n limit ${PIECE})`,
  );
  const removeUnknown = db.prepare(
    `delete from audit_lines where ${range} and kind = 'refused' and tool_name is null`,
  );
  const empty = db.prepare(`update audit_lines set args = null, reason = null where ${range}`);

  return {
    add(key: SessionKey, at: number, entry: AuditEntry): void {
      add.run(
        ...keyText(key),
        at,
        entry.kind,
        orNull(entry.approvalId, toText),
        orNull(entry.toolCallId, toText),
        orNull(entry.toolName, toText),
        orNull(entry.argsHash, toText),
        orNull(entry.args, (args) => toJson(args, 'The arguments')),
        orNull(entry.reason, toText),
        orNull(entry.by ?? null, (by) => toText(JSON.stringify(by))),
      );
    },
    page(key: SessionKey, { before = Number.MAX_SAFE_INTEGER, count, bytes }: AuditPageRequest): AuditPage {
      const found = sizes.all(...keyText(key), before, count + 1).map(({ size }) => size);
      const fit = fitting(found, count, bytes);
      const rows = newest.all(...keyText(key), before, fit);
      return {
        lines: rows.map(auditLineOf).reverse(),
        older: found.length > fit ? (rows.at(-1)?.n ?? null) : null,
      };
    },
    /** The number of the newest line. */
    last(): number {
      return last.first()?.n ?? 0;
    },
    /**
     * For a deleted session: removes the arguments and reasons from the next lines after `from`, up to `last`, and deletes lines about refused answers that
     * belonged to no call. Returns the number of the last of these lines; null when no line was left.
     */
    emptyPiece(key: SessionKey, from: number, last: number): number | null {
      const end = endOfPiece.first(...keyText(key), from, last)?.n ?? null;
      if (end === null) return null;
      removeUnknown.run(...keyText(key), from, end);
      empty.run(...keyText(key), from, end);
      return end;
    },
  };
}
