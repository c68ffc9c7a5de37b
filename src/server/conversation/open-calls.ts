import type { DeferredCall } from '../../adk/engine.ts';
import type { Answer } from '../../protocol/index.ts';
import { hashArgs } from '../approvals.ts';
import { type Failure, lateSettlement, type Settlement } from '../settlement.ts';
import type { Identity } from '../sign-in.ts';
import type { CallRecord } from '../store/store.ts';
import { CALL_FLOW, type CallEvent, STORED_AS, type Standing } from './call-flow.ts';

/** A call that is not settled yet. */
export interface OpenCall {
  record: CallRecord;
  standing: Standing;
  /** Whether the person was told that there is such a call. */
  isAnnounced: boolean;
  /** In the confirmation dialect: the confirmation was shown and is not closed. */
  isConfirming: boolean;
  /** Whether it stands in line for the slot of the server tools. */
  isInLine: boolean;
  /** Its tool has ended, and the slot is given back when its end is written down. */
  givesSlotBack: boolean;
  /** Who approved it, in this process. */
  by: Identity | null;
  /** It is wanted no more, and ends as soon as it is written down. */
  isUnwanted: boolean;
  /** How it ends, once that is known and cannot be told yet. */
  ending: Settlement | null;
}

/** What an answer lets happen next. */
export type Step =
  | { call: OpenCall; next: 'run' }
  | { call: OpenCall; next: 'hand-over' }
  | { call: OpenCall; next: 'end'; settlement: Settlement };

/** The calls of a session that are not settled, in the order of issue. */
export class OpenCalls {
  private readonly open = new Map<string, OpenCall>();

  get all(): OpenCall[] {
    return [...this.open.values()];
  }

  get records(): CallRecord[] {
    return this.all.map(({ record }) => record);
  }

  get size(): number {
    return this.open.size;
  }

  get(id: string): OpenCall | undefined {
    return this.open.get(id);
  }

  ids(): ReadonlySet<string> {
    return new Set(this.open.keys());
  }

  in(messageId: string): OpenCall[] {
    return this.all.filter(({ record }) => record.messageId === messageId);
  }

  /** Whether some call is at work on the server, or about to be. */
  get areAtWork(): boolean {
    return this.all.some(isAtWork);
  }

  /** Whether a card is on screen. */
  get isShowing(): boolean {
    return this.all.some(
      ({ record, standing }) => record.approvalId !== null && standing !== 'hidden' && standing !== 'issuing',
    );
  }

  get shown(): ReadonlySet<string> {
    return new Set(this.all.filter(({ standing }) => standing === 'asked').map(({ record }) => record.id));
  }

  /** A call that the agent makes. */
  issue(
    call: DeferredCall,
    messageId: string,
    { now, newId, clientDeadline }: { now: number; newId: () => string; clientDeadline: number | null },
  ): OpenCall {
    const becomes: Standing = call.asks ? 'hidden' : call.runsOn === 'server' ? 'ready' : 'client';
    return this.add(
      {
        id: call.id,
        approvalId: call.asks ? `approval_${newId()}` : null,
        toolName: call.toolName,
        args: call.args,
        argsHash: hashArgs(call.args),
        runsOn: call.runsOn,
        status: STORED_AS[becomes],
        reason: null,
        messageId,
        agent: call.agent,
        invocationId: call.invocationId,
        branch: call.branch ?? null,
        issuedAt: now,
        expiresAt: becomes === 'client' ? clientDeadline : null,
      },
      'issuing',
    );
  }

  add(record: CallRecord, standing: Standing): OpenCall {
    const call: OpenCall = {
      record,
      standing,
      isAnnounced: false,
      isConfirming: false,
      isInLine: false,
      givesSlotBack: false,
      by: null,
      isUnwanted: false,
      ending: null,
    };
    this.open.set(record.id, call);
    return call;
  }

  /** Something happened to a call; false when it cannot happen where the call stands. */
  move(call: OpenCall, event: CallEvent): boolean {
    const next = CALL_FLOW[call.standing][event];
    if (next === undefined) return false;
    call.standing = next;
    call.isInLine = false;
    if (next === 'settled') this.open.delete(call.record.id);
    else if (next !== 'ending') call.record = { ...call.record, status: STORED_AS[next] };
    return true;
  }

  /** A call that could not be taken stands where it stood. */
  putBack(call: OpenCall): void {
    call.standing = call.record.approvalId === null ? 'ready' : 'approved';
    call.isInLine = false;
    call.record = { ...call.record, status: STORED_AS[call.standing] };
  }

  /** The calls whose time is up, with how they end. */
  overdue(now: number): { call: OpenCall; settlement: Failure }[] {
    return this.all.flatMap((call) => {
      const { expiresAt } = call.record;
      const settlement = expiresAt !== null && expiresAt <= now ? lateSettlement(call.record) : null;
      return settlement && call.standing !== 'ending' ? [{ call, settlement }] : [];
    });
  }

  /** When the next call runs out of time; null when none does. */
  nextDeadline(): number | null {
    const times = this.all.flatMap(({ standing, record }) =>
      record.expiresAt === null || !DEADLINED.has(standing) ? [] : [record.expiresAt],
    );
    return times.length === 0 ? null : Math.min(...times);
  }

  /** In the confirmation dialect the output of the confirmation is the decision. */
  asDecision(answer: Answer): Answer {
    if (answer.kind !== 'output') return answer;
    const call = this.records.find(({ approvalId }) => approvalId === answer.toolCallId);
    const confirmed = isRecord(answer.output) ? answer.output.confirmed : undefined;
    if (!call || typeof confirmed !== 'boolean') return answer;
    return { kind: 'decision', toolCallId: call.id, approvalId: answer.toolCallId, approved: confirmed };
  }

  /** What an output of the browser means for its call: how it ends, a word why it does not count, or nothing. */
  outputFor(
    answer: Exclude<Answer, { kind: 'decision' }>,
  ): { call: OpenCall; settlement: Settlement } | { refused: string } | null {
    const call = this.open.get(answer.toolCallId);
    // Only what runs in the browser may be answered by it; a claimed output of a server tool is not even looked at.
    if (!call || !isAnswerable(call)) return null;
    if (answer.input !== undefined && hashArgs(answer.input) !== call.record.argsHash) {
      return { refused: 'arguments differ from those of the call' };
    }
    return {
      call,
      settlement:
        answer.kind === 'output'
          ? { kind: 'output', output: answer.output }
          : { kind: 'error', errorText: answer.errorText },
    };
  }
}

/** Standings in which a call has only so much time. */
const DEADLINED: ReadonlySet<Standing> = new Set(['asked', 'client', 'parked']);

/** Whether the server has work to do for a call, now or when its turn comes. */
function isAtWork({ standing, isInLine }: OpenCall): boolean {
  return isInLine || standing === 'issuing' || standing === 'running' || standing === 'ending';
}

function isAnswerable({ record, standing }: OpenCall): boolean {
  return (
    standing === 'client' || standing === 'parked' || (standing === 'approved' && record.runsOn === 'client')
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
