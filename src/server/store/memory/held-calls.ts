import { fromJson, toJson } from '../json.ts';
import { recordedAlready } from '../rules.ts';
import type { CallMove, CallRecord } from '../store.ts';

/** The recorded tool calls of one session. */
export class HeldCalls {
  readonly #calls = new Map<string, string>();
  /** Call id by approval id. */
  readonly #approvals = new Map<string, string>();

  /** Throws when a call, or an approval, is recorded already; the returned function writes. */
  prepare(calls: readonly CallRecord[]): () => void {
    const texts = new Map<string, string>();
    const approvals = new Map<string, string>();
    for (const call of calls) {
      const { id, approvalId } = call;
      if (texts.has(id) || this.#calls.has(id)) throw recordedAlready(`call ${id}`);
      texts.set(id, toJson(call, 'The call'));
      if (approvalId === null) continue;
      if (approvals.has(approvalId) || this.#approvals.has(approvalId)) {
        throw recordedAlready(`approval ${approvalId}`);
      }
      approvals.set(approvalId, id);
    }
    return () => {
      for (const [id, text] of texts) this.#calls.set(id, text);
      for (const [approvalId, id] of approvals) this.#approvals.set(approvalId, id);
    };
  }

  all(): CallRecord[] {
    return [...this.#calls.values()].map((text) => fromJson<CallRecord>(text));
  }

  find(id: { approvalId: string } | { id: string }): CallRecord | null {
    const callId = 'id' in id ? id.id : this.#approvals.get(id.approvalId);
    const text = callId === undefined ? undefined : this.#calls.get(callId);
    return text === undefined ? null : fromJson<CallRecord>(text);
  }

  /** The call as it would stand then, which `put` writes; null when it does not stand where the move begins. */
  moved({ id, from, to, reason, expiresAt }: CallMove): CallRecord | null {
    const call = this.find({ id });
    if (call === null || call.status !== from) return null;
    call.status = to;
    if (reason !== undefined) call.reason = reason;
    if (expiresAt !== undefined) call.expiresAt = expiresAt;
    return call;
  }

  put(call: CallRecord): void {
    this.#calls.set(call.id, toJson(call, 'The call'));
  }

  settle(id: string): void {
    const call = this.find({ id });
    if (call !== null) this.put({ ...call, status: 'settled' });
  }
}
