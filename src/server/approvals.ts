import { createHash } from 'node:crypto';
import { type Answer, SIGNED_OUT } from '../protocol/index.ts';
import type { AcceptedRequest, AuditEntry, AuditKind, CallRecord, OwnedKey, Store } from './store/store.ts';

/** What became of a decision: it counts, it said nothing new, or it was refused. */
export type Verdict =
  /** `isRepeated`: it was decided so before. */
  | { kind: 'counts'; call: CallRecord; isRepeated: boolean }
  | { kind: 'ignored' }
  /** Whoever decided is signed in no more: the call is over. */
  | { kind: 'ended'; call: CallRecord }
  /** `decided`: how it stands, when it was decided otherwise before. */
  | { kind: 'refused'; why: string; decided?: CallRecord };

/** SHA-256 over JSON with sorted keys: the same arguments always give the same hash. */
export function hashArgs(args: unknown): string {
  return createHash('sha256').update(canonicalJson(args)).digest('hex');
}

/**
 * The approvals of one session. Every step is written to the store, with its line, before anything follows from it;
 * a step happens only if the record still stands where it must.
 */
export class Approvals {
  private readonly store: Store;
  private readonly key: OwnedKey;
  private readonly now: () => number;

  constructor(store: Store, key: OwnedKey, now: () => number) {
    this.store = store;
    this.key = key;
    this.now = now;
  }

  /** Applies a person's decision to the call it names; the request that it came in is taken with it. */
  async decide(
    answer: Extract<Answer, { kind: 'decision' }>,
    isShown: (call: CallRecord) => boolean,
    accepted?: AcceptedRequest,
  ): Promise<Verdict> {
    const call = await this.find(answer);
    if (!call || call.approvalId === null) return this.refuse(answer, null, 'no such approval');
    const wanted = answer.approved ? 'approved' : 'denied';
    if (call.status === 'settled' || call.status === 'running') return { kind: 'ignored' };
    if (call.status === 'denied' || call.status === 'approved') {
      // The same decision again: whoever sent it did not hear that it counted.
      if (call.status === wanted) return { kind: 'counts', call, isRepeated: true };
      return { ...(await this.refuse(answer, call, `already ${call.status}`)), decided: call };
    }
    if (call.status === 'expired') return this.refuse(answer, call, 'expired');
    if (!isShown(call)) return this.refuse(answer, call, 'not asked yet');
    if (answer.approvalId !== undefined && !namesCall(answer, call)) {
      return this.refuse(answer, call, 'belongs to another call');
    }
    if (answer.input !== undefined && hashArgs(answer.input) !== call.argsHash) {
      return this.refuse(answer, call, 'arguments differ from those that were asked about');
    }
    if (call.expiresAt !== null && call.expiresAt <= this.now()) {
      await this.expire(call);
      return this.refuse(answer, call, 'expired');
    }
    const decided = await this.store.decideCall(
      this.key,
      { id: call.id, to: wanted, reason: answer.reason ?? null },
      lineFor(wanted, call, answer.reason ?? null),
      accepted,
    );
    return decided ? { kind: 'counts', call: decided, isRepeated: false } : { kind: 'ignored' };
  }

  /** Refuses a decision of someone who is signed in no more. An approval ends its call, which is returned then. */
  async refuseSignedOut(
    answer: Extract<Answer, { kind: 'decision' }>,
    isShown: (call: CallRecord) => boolean,
  ): Promise<CallRecord | null> {
    const call = await this.find(answer);
    const isAnswerable = call?.status === 'requested' && isShown(call) && answer.approved;
    const ended = call && isAnswerable ? await this.signedOut(call, 'requested') : null;
    if (!ended) await this.refuse(answer, call?.approvalId ? call : null, SIGNED_OUT);
    return ended;
  }

  /** Ends a call for good, because whoever approved it is signed in no more; null when it stands elsewhere. */
  async signedOut(call: CallRecord, from: 'requested' | 'approved'): Promise<CallRecord | null> {
    return this.store.moveCall(
      this.key,
      { id: call.id, from, to: 'expired', reason: SIGNED_OUT },
      lineFor('refused', call, SIGNED_OUT),
    );
  }

  /** Takes an approval for use: true once, false for ever after. */
  async consume(call: CallRecord, expiresAt: number | null): Promise<CallRecord | null> {
    return this.store.moveCall(
      this.key,
      { id: call.id, from: 'approved', to: 'running', expiresAt },
      lineFor('consumed', call, null),
    );
  }

  /** Nobody decided in time, or nobody will. */
  async expire(call: CallRecord, reason: string | null = null): Promise<CallRecord | null> {
    return this.store.moveCall(
      this.key,
      { id: call.id, from: 'requested', to: 'expired', reason },
      lineFor('expired', call, reason),
    );
  }

  private find({
    toolCallId,
    approvalId,
  }: Extract<Answer, { kind: 'decision' }>): Promise<CallRecord | null> {
    return this.store.findCall(this.key, approvalId === undefined ? { id: toolCallId } : { approvalId });
  }

  private async refuse(
    answer: Extract<Answer, { kind: 'decision' }>,
    call: CallRecord | null,
    why: string,
  ): Promise<Extract<Verdict, { kind: 'refused' }>> {
    const line: AuditEntry = call
      ? lineFor('refused', call, why)
      : {
          kind: 'refused',
          approvalId: answer.approvalId?.slice(0, 256) ?? null,
          toolCallId: answer.toolCallId.slice(0, 256),
          toolName: null,
          argsHash: null,
          args: null,
          reason: why,
        };
    await this.store.audit(this.key, line);
    return { kind: 'refused', why };
  }
}

/** A part names its call by its id; in the confirmation dialect the confirmation is a call of its own. */
function namesCall(answer: { toolCallId: string }, call: CallRecord): boolean {
  return answer.toolCallId === call.id || answer.toolCallId === call.approvalId;
}

function lineFor(kind: AuditKind, call: CallRecord, reason: string | null): AuditEntry {
  return {
    kind,
    approvalId: call.approvalId,
    toolCallId: call.id,
    toolName: call.toolName,
    argsHash: call.argsHash,
    args: call.args,
    reason,
  };
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
