import { toJson } from '../store/json.ts';
import { type AuditRow, auditLineOf, orNull } from '../store/rows.ts';
import type { AuditEntry, AuditLine, SessionKey } from '../store/store.ts';
import { toText } from '../store/text.ts';
import type { Database } from './database.ts';
import { keyText } from './sessions.ts';

/** The table of the audit log. Its lines name their session by its key, since they outlive it. */
export function auditTable(db: Database) {
  const add = db.prepare(
    `insert into audit_lines (app, user, session_id, at, kind, approval_id, tool_call_id, tool_name, args_hash, args,
       reason)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const all = db.prepare<AuditRow>(
    'select * from audit_lines where app = ? and user = ? and session_id = ? order by n',
  );
  const empty = db.prepare(
    'update audit_lines set args = null, reason = null where app = ? and user = ? and session_id = ?',
  );

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
      );
    },
    all(key: SessionKey): AuditLine[] {
      return all.all(...keyText(key)).map(auditLineOf);
    },
    /** Removes arguments and reasons from the lines of a session. */
    empty(key: SessionKey): void {
      empty.run(...keyText(key));
    },
  };
}
