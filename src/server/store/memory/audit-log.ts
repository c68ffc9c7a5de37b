import { fromJson, toJson } from '../json.ts';
import { fitting, nameOf } from '../rules.ts';
import type { AuditEntry, AuditLine, AuditPage, AuditPageRequest, SessionKey } from '../store.ts';

interface NumberedLine {
  n: number;
  text: string;
}

/** The audit lines of all sessions, also of those that were removed. */
export class AuditLog {
  /** The lines of each session as JSON, with their numbers in ascending order. */
  readonly #lines = new Map<string, NumberedLine[]>();
  #last = 0;

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
      const numbered = { n: ++this.#last, text };
      const lines = this.#lines.get(nameOf(key));
      if (lines === undefined) this.#lines.set(nameOf(key), [numbered]);
      else lines.push(numbered);
    };
  }

  page(key: SessionKey, { before = Number.POSITIVE_INFINITY, count, bytes }: AuditPageRequest): AuditPage {
    const lines = this.#lines.get(nameOf(key)) ?? [];
    const end = lines.findLastIndex(({ n }) => n < before) + 1;
    const newest = lines.slice(Math.max(0, end - count), end).map(({ text }) => text.length);
    const start = end - fitting(newest.reverse(), count, bytes);
    return {
      lines: lines.slice(start, end).map(({ text }) => fromJson<AuditLine>(text)),
      older: start > 0 ? (lines[start]?.n ?? null) : null,
    };
  }

  /** Removes what a deleted session must not leave: arguments, reasons, and refused answers that belonged to no call. */
  empty(key: SessionKey): void {
    const lines: NumberedLine[] = [];
    for (const { n, text } of this.#lines.get(nameOf(key)) ?? []) {
      const line = fromJson<AuditLine>(text);
      if (line.kind === 'refused' && line.toolName === null) continue;
      lines.push({ n, text: toJson({ ...line, args: null, reason: null }, 'The audit line') });
    }
    if (lines.length > 0) this.#lines.set(nameOf(key), lines);
    else this.#lines.delete(nameOf(key));
  }
}
