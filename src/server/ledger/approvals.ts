import { createHash } from 'node:crypto';
import {
  type Answer,
  APPROVAL_TIMED_OUT,
  OUTCOME_UNKNOWN,
  outputTimedOut,
  SIGNED_OUT,
} from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { CallState } from '../conversation/state/call-states.ts';
import type {
  AcceptedRequest,
  AuditEntry,
  AuditKind,
  CallRecord,
  CallStatus,
  OwnedKey,
  Store,
} from '../store/store.ts';
import type { RefusedAnswers } from './refused-answers.ts';
import type { Failure, Settlement } from './settlement.ts';

/** What became of a decision: it counts, it said nothing new, or it was refused. */
export type Verdict =
  /** `isRepeated`: it was decided so before. */
  | { kind: 'counts'; call: CallRecord; isRepeated: boolean }
  | { kind: 'ignored' }
  /** Whoever decided is signed in no more: the call is over. */
  | { kind: 'ended'; call: CallRecord }
  /** `decided`: how it stands, when it was decided otherwise before. */
  | { kind: 'refused'; why: string; decided?: CallRecord };

/** The steps of the ledger, each from one status to another: it happens only if the call still stands there. */
export const LEDGER = {
  show: { from: 'requested', to: 'requested' },
  expire: { from: 'requested', to: 'expired' },
  'sign-out-asked': { from: 'requested', to: 'expired' },
  'sign-out-approved': { from: 'approved', to: 'expired' },
  consume: { from: 'approved', to: 'running' },
  take: { from: 'ready', to: 'running' },
  park: { from: 'running', to: 'parked' },
} as const satisfies Record<string, { from: CallStatus; to: CallStatus }>;

/** What a decision finds in the ledger. `used`: it was consumed or ended, or there was nothing to decide. */
const FOUND: Readonly<Record<CallStatus, 'undecided' | 'approved' | 'denied' | 'expired' | 'used'>> = {
  requested: 'undecided',
  approved: 'approved',
  denied: 'denied',
  expired: 'expired',
  ready: 'used',
  running: 'used',
  parked: 'used',
  settled: 'used',
};

/** What was decided about a call, as it is stored; null when nothing was, or when that is used up. */
export function decisionIn({ status }: CallRecord): boolean | null {
  return status === 'approved' || status === 'denied' ? status === 'approved' : null;
}

/** Whether a call, as it is stored, asks and nobody has decided. */
export function isUndecided({ status }: CallRecord): boolean {
  return status === 'requested';
}

/** How a call ends whose time is up; null when a call like this has no deadline. */
export function lateSettlement({ status, runsOn, toolName }: CallRecord): Failure | null {
  if (status === 'requested') return { kind: 'error', errorText: APPROVAL_TIMED_OUT };
  return status === 'parked' || (status === 'running' && runsOn === 'client')
    ? { kind: 'error', errorText: outputTimedOut(toolName) }
    : null;
}

/** How a call ends that a process left in the middle of something; null when it goes on. */
export function leftBehind({ status, reason, runsOn }: CallRecord): Settlement | null {
  if (status === 'denied') return { kind: 'denied', reason };
  if (status === 'expired') return { kind: 'error', errorText: reason ?? APPROVAL_TIMED_OUT };
  return status === 'running' && runsOn === 'server' ? { kind: 'error', errorText: OUTCOME_UNKNOWN } : null;
}

/** The state of a call that another process left open. `isShown`: a message shows its approval request. */
export function stateOf(
  { status, runsOn }: CallRecord,
  isShown: boolean,
): Exclude<CallState, 'issuing' | 'ending' | 'settled'> {
  switch (status) {
    case 'requested':
      return isShown ? 'asked' : 'queued';
    case 'approved':
    case 'denied':
    case 'ready':
    case 'parked':
      return status;
    default:
      return runsOn === 'client' ? 'client' : 'running';
  }
}

/** SHA-256 over JSON with sorted keys: the same arguments always give the same hash. */
export function hashArgs(args: unknown): string {
  return createHash('sha256').update(canonicalJson(args)).digest('hex');
}

/** What the approvals of all sessions share; the engine has it. */
export interface LedgerContext {
  store: Store;
  clock: Clock;
  refusals: RefusedAnswers;
}

/**
 * The approvals of one session. Every step is written to the store, with its line, before anything follows from it;
 * a step happens only if the record still stands where it must.
 */
export class Approvals {
  private readonly store: Store;
  private readonly key: OwnedKey;
  private readonly clock: Clock;
  private readonly refusals: RefusedAnswers;

  constructor({ store, clock, refusals }: LedgerContext, key: OwnedKey) {
    this.store = store;
    this.key = key;
    this.clock = clock;
    this.refusals = refusals;
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
    const found = FOUND[call.status];
    if (found === 'used') return { kind: 'ignored' };
    // The same decision again: whoever sent it did not hear that it counted.
    if (found === wanted) return { kind: 'counts', call, isRepeated: true };
    if (found === 'expired') return this.refuse(answer, call, 'expired');
    if (found !== 'undecided')
      return { ...(await this.refuse(answer, call, `already ${found}`)), decided: call };
    if (!isShown(call)) return this.refuse(answer, call, 'not asked yet');
    if (answer.approvalId !== undefined && !namesCall(answer, call)) {
      return this.refuse(answer, call, 'belongs to another call');
    }
    if (answer.input !== undefined && hashArgs(answer.input) !== call.argsHash) {
      return this.refuse(answer, call, 'arguments differ from those that were asked about');
    }
    if (call.expiresAt !== null && call.expiresAt <= this.clock.now()) {
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
    const isAnswerable = call && FOUND[call.status] === 'undecided' && isShown(call) && answer.approved;
    const ended = isAnswerable ? await this.signedOut(call, 'sign-out-asked') : null;
    if (!ended) await this.refuse(answer, call?.approvalId ? call : null, SIGNED_OUT);
    return ended;
  }

  /** Ends a call for good, because whoever approved it is signed in no more; null when it stands elsewhere. */
  async signedOut(
    call: CallRecord,
    step: 'sign-out-asked' | 'sign-out-approved',
  ): Promise<CallRecord | null> {
    return this.store.moveCall(
      this.key,
      { id: call.id, ...LEDGER[step], reason: SIGNED_OUT },
      lineFor('refused', call, SIGNED_OUT),
    );
  }

  /** Takes an approval for use: true once, false for ever after. */
  async consume(call: CallRecord, expiresAt: number | null): Promise<CallRecord | null> {
    return this.store.moveCall(
      this.key,
      { id: call.id, ...LEDGER.consume, expiresAt },
      lineFor('consumed', call, null),
    );
  }

  /** Nobody decided in time, or nobody will. */
  async expire(call: CallRecord, reason: string | null = null): Promise<CallRecord | null> {
    return this.store.moveCall(
      this.key,
      { id: call.id, ...LEDGER.expire, reason },
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
    await this.refusals.write(this.key, line);
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
