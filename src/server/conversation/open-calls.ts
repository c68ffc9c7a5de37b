import type { DeferredCall } from '../../adk/for-server.ts';
import type { Answer, WaitingAnswer } from '../../protocol/index.ts';
import { hashArgs } from '../approvals.ts';
import { type Failure, lateSettlement, type Settlement } from '../settlement.ts';
import type { Identity } from '../sign-in.ts';
import type { CallRecord } from '../store/store.ts';
import type { Accepting } from './acceptances.ts';
import { CALL_FLOW, type CallEvent, STORED_AS, type Standing } from './call-flow.ts';

/** Where an open call stands, with what is known only there. */
type CallState =
  | {
      is: 'issuing';
      /** It is wanted no more, and ends as soon as it is written down. */
      isUnwanted: boolean;
    }
  | {
      is: 'approved' | 'ready';
      /** Whether it stands in line for the slot of the server tools. */
      isInLine: boolean;
    }
  | {
      is: 'ending';
      /** How it ends, which cannot be told yet. */
      settlement: Settlement;
      accepts: Accepting | undefined;
    }
  | { is: Exclude<Standing, 'issuing' | 'approved' | 'ready' | 'ending'> };

/** A call that is not settled yet. */
export interface OpenCall {
  record: CallRecord;
  state: CallState;
  /** Whether the person was told that there is such a call. */
  isAnnounced: boolean;
  /** In the confirmation dialect: the confirmation was shown and is not closed. */
  isConfirming: boolean;
  /** Its time is up, and the store is asked whether someone decided it before. */
  isExpiring: boolean;
  /** Its tool has ended, and the slot is given back when its end is written down. */
  givesSlotBack: boolean;
  /** Who approved it, in this process, and over which connection. */
  by: Identity | null;
  approvedOver: string | null;
}

/** What an answer lets happen next. */
export type Step =
  | { call: OpenCall; next: 'run' }
  | { call: OpenCall; next: 'hand-over' }
  /** `accepts`: the request that is taken with its end. */
  | { call: OpenCall; next: 'end'; settlement: Settlement; accepts?: Accepting };

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
      ({ record, state }) => record.approvalId !== null && state.is !== 'hidden' && state.is !== 'issuing',
    );
  }

  /** Whether the time of some card is up, and nobody knows yet whether it was decided before. */
  get areExpiring(): boolean {
    return this.all.some(({ isExpiring }) => isExpiring);
  }

  /** The call that is gone on with when someone is there. */
  get nextTakenUp(): CallRecord | null {
    const isDue = ({ state }: OpenCall) =>
      state.is === 'ready' || state.is === 'approved' || (state.is === 'hidden' && !this.isShowing);
    return this.all.find(isDue)?.record ?? null;
  }

  get shown(): ReadonlySet<string> {
    return new Set(this.all.filter(({ state }) => state.is === 'asked').map(({ record }) => record.id));
  }

  /** The calls that are shown and wait for the person or the browser; a confirmation is a call of its own. */
  get waitingAnswers(): WaitingAnswer[] {
    return this.all.flatMap(({ record, state, isConfirming }): WaitingAnswer[] => {
      const { id, approvalId, messageId } = record;
      const toolCallId = isConfirming && approvalId !== null ? approvalId : id;
      if (state.is === 'asked') return [{ toolCallId, messageId, waitsFor: 'person' }];
      const isOutside = state.is === 'client' || state.is === 'parked';
      return isOutside ? [{ toolCallId, messageId, waitsFor: 'client' }] : [];
    });
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

  add(record: CallRecord, standing: Exclude<Standing, 'ending'>): OpenCall {
    const call: OpenCall = {
      record,
      state: stateOf(standing),
      isAnnounced: false,
      isConfirming: false,
      isExpiring: false,
      givesSlotBack: false,
      by: null,
      approvedOver: null,
    };
    this.open.set(record.id, call);
    return call;
  }

  /** Something happened to a call; false when it cannot happen where the call stands. */
  move(call: OpenCall, event: Exclude<CallEvent, 'end'>): boolean {
    const next = CALL_FLOW[call.state.is][event];
    if (next === undefined || next === 'ending') return false;
    call.state = stateOf(next);
    if (next === 'settled') this.open.delete(call.record.id);
    else call.record = { ...call.record, status: STORED_AS[next] };
    return true;
  }

  /** How a call ends is known, and cannot be told yet; false when it cannot end where it stands. */
  endLater(call: OpenCall, settlement: Settlement, accepts?: Accepting): boolean {
    if (CALL_FLOW[call.state.is].end === undefined) return false;
    call.state = { is: 'ending', settlement, accepts };
    return true;
  }

  /** A call that could not be taken stands where it stood. */
  putBack(call: OpenCall): void {
    const standing = call.record.approvalId === null ? 'ready' : 'approved';
    call.state = stateOf(standing);
    call.record = { ...call.record, status: STORED_AS[standing] };
  }

  /** The calls whose time is up, with how they end. */
  overdue(now: number): { call: OpenCall; settlement: Failure }[] {
    return this.all.flatMap((call) => {
      const { expiresAt } = call.record;
      const settlement = expiresAt !== null && expiresAt <= now ? lateSettlement(call.record) : null;
      return settlement && call.state.is !== 'ending' && !call.isExpiring ? [{ call, settlement }] : [];
    });
  }

  /** When the next call runs out of time; null when none does. */
  nextDeadline(): number | null {
    const times = this.all.flatMap(({ state, record, isExpiring }) =>
      record.expiresAt === null || isExpiring || !DEADLINED.has(state.is) ? [] : [record.expiresAt],
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

function stateOf(standing: Exclude<Standing, 'ending'>): CallState {
  switch (standing) {
    case 'issuing':
      return { is: standing, isUnwanted: false };
    case 'approved':
    case 'ready':
      return { is: standing, isInLine: false };
    default:
      return { is: standing };
  }
}

/** Whether the server has work to do for a call, now or when its turn comes. */
function isAtWork({ state, isExpiring }: OpenCall): boolean {
  return (
    isExpiring ||
    state.is === 'issuing' ||
    state.is === 'running' ||
    state.is === 'ending' ||
    ('isInLine' in state && state.isInLine)
  );
}

function isAnswerable({ record, state }: OpenCall): boolean {
  return (
    state.is === 'client' || state.is === 'parked' || (state.is === 'approved' && record.runsOn === 'client')
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
