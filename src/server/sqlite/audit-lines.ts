import { toJson } from '../store/json.ts';
import { type AuditRow, auditLineOf, orNull } from '../store/rows.ts';
import { fitting } from '../store/rules.ts';
import type { AuditEntry, AuditPage, AuditPageRequest, SessionKey } from '../store/store.ts';
import { toText } from '../store/text.ts';
import type { Database } from './database.ts';
import { keyText } from './sessions.ts';

/** Lines that one transaction empties: more would hold up the event loop. */
const PIECE = 2000;

/** The table of the audit log. Its lines name their session by its key, since they outlive it. */
export function auditTable(db: Database) {
  const add = db.prepare(
    `insert into audit_lines (app, user, session_id, at, kind, approval_id, tool_call_id, tool_name, args_hash, args,
       reason)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
     * Removes what a deleted session must not leave: arguments, reasons, and refused answers that belonged to no call. It does so
     * with the next lines after `from`, up to `last`, and returns the number of the last of them; null when there was none.
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
