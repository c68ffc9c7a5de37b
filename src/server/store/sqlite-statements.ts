import type { Database, Statement } from './sqlite-database.ts';
import type { AuditRow, CallRow, ListedRow, RequestRow, SessionRow } from './sqlite-rows.ts';

/** Every statement the store runs, prepared once. */
export type Statements = ReturnType<typeof prepareStatements>;

/** Prepares the statements on a database with the newest schema. */
export function prepareStatements(db: Database) {
  const tables = ['events', 'messages', 'calls', 'files', 'requests', 'waiting'];
  return {
    addSession: db.prepare(
      'insert into sessions (app, user, id, state, created_at, updated_at) values (?, ?, ?, ?, ?, ?)',
    ),
    session: db.prepare<SessionRow>('select * from sessions where app = ? and user = ? and id = ?'),
    sessionsOfUser: db.prepare<ListedRow>(
      `select n, fence, id, title, '' as state, created_at, updated_at,
         exists (
           select 1 from calls where calls.session = sessions.n and status = 'requested'
           and (expires_at is null or expires_at > ?)
         ) as is_waiting,
         (
           select coalesce(json_extract(data, '$.metadata.failed'), json_extract(data, '$.metadata.cutOff'))
           from messages where messages.session = sessions.n order by seq desc limit 1
         ) as has_failed
       from sessions where app = ? and user = ?`,
    ),
    raiseFence: db.prepare('update fences set last = last + 1'),
    lastFence: db.prepare<{ last: number }>('select last from fences'),
    setFence: db.prepare('update sessions set fence = ? where n = ?'),
    renameSession: db.prepare('update sessions set title = ? where app = ? and user = ? and id = ?'),
    touchSession: db.prepare('update sessions set updated_at = ? where n = ?'),
    deleteAllOf: [
      ...tables.map((table) => db.prepare(`delete from ${table} where session = ?`)),
      db.prepare('delete from sessions where n = ?'),
    ] as Statement<never>[],

    setState: db.prepare('update sessions set state = ? where n = ?'),
    appState: db.prepare<{ state: string }>('select state from app_states where app = ?'),
    setAppState: db.prepare('insert or replace into app_states (app, state) values (?, ?)'),
    userState: db.prepare<{ state: string }>('select state from user_states where app = ? and user = ?'),
    setUserState: db.prepare('insert or replace into user_states (app, user, state) values (?, ?, ?)'),

    putEvent: db.prepare(putAtTheEnd('events')),
    events: db.prepare<{ data: string }>('select data from events where session = ? order by seq'),
    putMessage: db.prepare(putAtTheEnd('messages')),
    messages: db.prepare<{ data: string }>('select data from messages where session = ? order by seq'),
    messagePlace: db.prepare<{ seq: number }>('select seq from messages where session = ? and id = ?'),
    messageSizes: db.prepare<{ size: number }>(
      `select octet_length(data) as size from messages where session = ? and seq < ? order by seq desc limit ?`,
    ),
    messagesBefore: db.prepare<{ data: string }>(
      'select data from messages where session = ? and seq < ? order by seq desc limit ?',
    ),
    truncateMessages: db.prepare(
      `delete from messages where session = ?
       and seq >= (select seq from messages where session = ? and id = ?)`,
    ),

    addWaiting: db.prepare(putAtTheEnd('waiting')),
    waiting: db.prepare<{ data: string }>('select data from waiting where session = ? order by seq'),
    dropWaiting: db.prepare('delete from waiting where session = ? and id = ?'),
    answerWaiting: db.prepare(
      // By what waits, which is little, and not by the messages, which are many.
      `delete from waiting where session = ? and exists (
         select 1 from messages where messages.session = waiting.session and messages.id = waiting.id
         and messages.seq < (select seq from messages where session = ? and id = ?)
       )`,
    ),

    addCall: db.prepare(
      `insert into calls (session, id, approval_id, tool_name, args, args_hash, runs_on, status, reason, message_id,
         agent, invocation_id, branch, issued_at, expires_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    openCalls: db.prepare<CallRow>(
      `select * from calls where session = ? and status <> 'settled' order by n`,
    ),
    callById: db.prepare<CallRow>('select * from calls where session = ? and id = ?'),
    callByApproval: db.prepare<CallRow>('select * from calls where session = ? and approval_id = ?'),
    moveCall: db.prepare('update calls set status = ? where session = ? and id = ? and status = ?'),
    setReason: db.prepare('update calls set reason = ? where session = ? and id = ?'),
    setExpiry: db.prepare('update calls set expires_at = ? where session = ? and id = ?'),
    settleCall: db.prepare(`update calls set status = 'settled' where session = ? and id = ?`),

    addAuditLine: db.prepare(
      `insert into audit_lines (app, user, session_id, at, kind, approval_id, tool_call_id, tool_name, args_hash, args,
         reason)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    auditLines: db.prepare<AuditRow>(
      'select * from audit_lines where app = ? and user = ? and session_id = ? order by n',
    ),
    emptyAuditLines: db.prepare(
      'update audit_lines set args = null, reason = null where app = ? and user = ? and session_id = ?',
    ),

    addRequest: db.prepare(
      `insert or replace into requests (session, seq, request_id, message_id, parts)
       values (?, (select coalesce(max(seq), 0) + 1 from requests where session = ?), ?, ?, ?)`,
    ),
    dropRequests: db.prepare(
      'delete from requests where session = ? and seq <= (select max(seq) from requests where session = ?) - ?',
    ),
    requests: db.prepare<RequestRow>(
      'select request_id, message_id, parts from requests where session = ? order by seq',
    ),

    putFile: db.prepare('insert or replace into files (session, id, media_type, bytes) values (?, ?, ?, ?)'),
    file: db.prepare<{ media_type: string; bytes: Uint8Array }>(
      'select media_type, bytes from files where session = ? and id = ?',
    ),
  };
}

function putAtTheEnd(table: 'events' | 'messages' | 'waiting'): string {
  return `insert into ${table} (session, seq, id, data)
    values (?, (select coalesce(max(seq), 0) + 1 from ${table} where session = ?), ?, ?)
    on conflict (session, id) do update set data = excluded.data`;
}
