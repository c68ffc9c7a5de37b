import { toJson } from '../store/json.ts';
import { type CallRow, callOf, orNull } from '../store/rows.ts';
import { recordedAlready } from '../store/rules.ts';
import type { CallMove, CallRecord } from '../store/store.ts';
import { toText } from '../store/text.ts';
import type { Database } from './database.ts';

/** The table of the recorded tool calls. */
export function callTable(db: Database) {
  const add = db.prepare(
    `insert into calls (session, id, approval_id, tool_name, args, args_hash, runs_on, status, reason, message_id,
       agent, invocation_id, branch, issued_at, expires_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const open = db.prepare<CallRow>(
    `select * from calls where session = ? and status <> 'settled' order by n`,
  );
  const byId = db.prepare<CallRow>('select * from calls where session = ? and id = ?');
  const byApproval = db.prepare<CallRow>('select * from calls where session = ? and approval_id = ?');
  const move = db.prepare('update calls set status = ? where session = ? and id = ? and status = ?');
  const setReason = db.prepare('update calls set reason = ? where session = ? and id = ?');
  const setExpiry = db.prepare('update calls set expires_at = ? where session = ? and id = ?');
  const settle = db.prepare(`update calls set status = 'settled' where session = ? and id = ?`);

  const find = (session: number, id: { approvalId: string } | { id: string }): CallRecord | null => {
    const row =
      'id' in id ? byId.first(session, toText(id.id)) : byApproval.first(session, toText(id.approvalId));
    return row === undefined ? null : callOf(row);
  };

  return {
    find,
    /** Throws when the call, or its approval, is recorded already. */
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
      );
    },
    /** The calls that are not settled, in the order of issue. */
    open(session: number): CallRecord[] {
      return open.all(session).map(callOf);
    },
    /** The call as it stands then; null when it did not stand where the move begins. */
    move(session: number, { id, from, to, reason, expiresAt }: CallMove): CallRecord | null {
      if (move.run(to, session, toText(id), from) === 0) return null;
      if (reason !== undefined) setReason.run(orNull(reason, toText), session, toText(id));
      if (expiresAt !== undefined) setExpiry.run(expiresAt, session, toText(id));
      return find(session, { id });
    },
    settle(session: number, id: string): void {
      settle.run(session, toText(id));
    },
  };
}
