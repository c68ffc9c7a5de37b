import { fromJson, toJson } from '../json.ts';
import { nameOf } from '../rules.ts';
import type { AuditEntry, AuditLine, SessionKey } from '../store.ts';

/** The audit lines of all sessions, also of those that were removed. */
export class AuditLog {
  readonly #lines = new Map<string, string[]>();

  /** Everything that can fail is done before the returned function writes. */
  prepare(key: SessionKey, at: number, entry: AuditEntry): () => void {
    const line: AuditLine = {
      at,
      kind: entry.kind,
      sessionId: key.id,
      user: key.user,
      approvalId: entry.approvalId,
      toolCallId: entry.toolCallId,
      toolName: entry.toolName,
      argsHash: entry.argsHash,
      args: entry.args,
      reason: entry.reason,
    };
    const text = toJson(line, 'The audit line');
    return () => {
      const lines = this.#lines.get(nameOf(key));
      if (lines === undefined) this.#lines.set(nameOf(key), [text]);
      else lines.push(text);
    };
  }

  all(key: SessionKey): AuditLine[] {
    return (this.#lines.get(nameOf(key)) ?? []).map((text) => fromJson<AuditLine>(text));
  }

  /** Removes arguments and reasons from the lines of a session. */
  empty(key: SessionKey): void {
    const lines = this.all(key).map((line) =>
      toJson({ ...line, args: null, reason: null }, 'The audit line'),
    );
    if (lines.length > 0) this.#lines.set(nameOf(key), lines);
  }
}
