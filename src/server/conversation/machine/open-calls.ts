import type { DeferredCall } from '../../../adk/for-server.ts';
import type { WaitingAnswer } from '../../../protocol/index.ts';
import { type Failure, hashArgs, lateSettlement, type Settlement } from '../../ledger/approvals.ts';
import type { CallRecord } from '../../store/store.ts';
import type { Accepting } from './acceptances.ts';
import { CALL_FLOW, type CallEvent, issuedAs, type Standing, storedAs, waitsFor } from './call-flow.ts';
import { isAtWork, type OpenCall, stateOf } from './open-call.ts';

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

  /** The calls that are being written down. */
  get issuing(): OpenCall[] {
    return this.standing('issuing');
  }

  /** The calls whose card is not shown yet. */
  get hidden(): OpenCall[] {
    return this.standing('hidden');
  }

  /** The calls that may run, on the server or in the browser, and do not yet. */
  get due(): OpenCall[] {
    return this.standing('ready', 'approved');
  }

  /** The calls whose end waits for a run. */
  get ending(): { call: OpenCall; settlement: Settlement }[] {
    return this.all.flatMap((call) =>
      call.state.is === 'ending' ? [{ call, settlement: call.state.settlement }] : [],
    );
  }

  /** The request that is taken with the end of a call, when that waits for a run or for callbacks. */
  acceptedWith({ state }: OpenCall): Accepting | undefined {
    return 'accepts' in state ? state.accepts : undefined;
  }

  /** Takes the requests that were to be acknowledged with the end of a call, when the run or the callbacks that the end waits for do not come. */
  takeAccepting(): Accepting[] {
    return this.all.flatMap(({ state }) => {
      if (!('accepts' in state) || !state.accepts) return [];
      const { accepts } = state;
      state.accepts = undefined;
      return [accepts];
    });
  }

  /** The call, if its tool runs on the server. */
  running(id: string): OpenCall | undefined {
    return this.standing('running').find(({ record }) => record.id === id);
  }

  private standing(...standings: Standing[]): OpenCall[] {
    return this.all.filter(({ state }) => standings.includes(state.is));
  }

  /** Whether the card of a call is on screen and undecided. */
  isAsked({ state, record }: OpenCall): boolean {
    return waitsFor(state.is, record) === 'person';
  }

  /** Whether nobody has decided about a call that asks, shown or not. */
  isUndecided({ state }: OpenCall): boolean {
    return state.is === 'asked' || state.is === 'hidden';
  }

  /** Whether a call waits for an output from outside: from the browser, or for a tool that was started on the server. */
  isAnswerable({ state, record }: OpenCall): boolean {
    return waitsFor(state.is, record) === 'client';
  }

  /** Whether the tool of a call runs, or has ended: what the call does is done. */
  hasBegun({ state }: OpenCall): boolean {
    return state.is === 'running' || state.is === 'ending';
  }

  /** Whether a call was approved, and the approval is not used yet. */
  holdsApproval({ state }: OpenCall): boolean {
    return state.is === 'approved';
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
    return new Set(this.all.filter((call) => this.isAsked(call)).map(({ record }) => record.id));
  }

  /** The calls that are shown and wait for the person or the browser; a confirmation is a call of its own. */
  get waitingAnswers(): WaitingAnswer[] {
    return this.all.flatMap(({ record, state, isConfirming }): WaitingAnswer[] => {
      const { id, approvalId, messageId } = record;
      const toolCallId = isConfirming && approvalId !== null ? approvalId : id;
      const who = waitsFor(state.is, record);
      return who === 'person' || who === 'client' ? [{ toolCallId, messageId, waitsFor: who }] : [];
    });
  }

  /** A call that the agent makes. */
  issue(
    call: DeferredCall,
    messageId: string,
    { now, newId, clientDeadline }: { now: number; newId: () => string; clientDeadline: number | null },
  ): OpenCall {
    const approvalId = call.asks ? `approval_${newId()}` : null;
    const becomes = CALL_FLOW.issuing[issuedAs({ approvalId, runsOn: call.runsOn })] ?? 'settled';
    return this.add(
      {
        id: call.id,
        approvalId,
        toolName: call.toolName,
        args: call.args,
        argsHash: hashArgs(call.args),
        runsOn: call.runsOn,
        status: storedAs(becomes),
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
    else call.record = { ...call.record, status: storedAs(next) };
    return true;
  }

  /** The output of a call came from outside, and the after-tool callbacks are to see it; false when it cannot. */
  receive(call: OpenCall, accepts: Accepting | undefined): boolean {
    if (!this.move(call, 'take')) return false;
    call.state = { is: 'running', accepts };
    return true;
  }

  /** How a call ends is known, and cannot be told yet; false when it cannot end where it stands. */
  endLater(call: OpenCall, settlement: Settlement, accepts?: Accepting): boolean {
    if (CALL_FLOW[call.state.is].end === undefined) return false;
    call.state = { is: 'ending', settlement, accepts };
    return true;
  }

  /** A call that is still being written down is wanted no more, and ends when it is; false when it is not such a call. */
  unwant({ state }: OpenCall): boolean {
    if (state.is !== 'issuing') return false;
    state.isUnwanted = true;
    return true;
  }

  isUnwanted({ state }: OpenCall): boolean {
    return state.is === 'issuing' && state.isUnwanted;
  }

  /** A call waits for the slot of the server tools; false when it cannot, or does already. */
  lineUp({ state }: OpenCall): boolean {
    if (!('isInLine' in state) || state.isInLine) return false;
    state.isInLine = true;
    return true;
  }

  /** A call that could not be taken stands where it stood. */
  putBack(call: OpenCall): void {
    const standing = call.record.approvalId === null ? 'ready' : 'approved';
    call.state = stateOf(standing);
    call.record = { ...call.record, status: storedAs(standing) };
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
    let next: number | null = null;
    for (const { state, record, isExpiring } of this.open.values()) {
      const { expiresAt } = record;
      if (expiresAt === null || isExpiring || !DEADLINED.has(state.is)) continue;
      if (next === null || expiresAt < next) next = expiresAt;
    }
    return next;
  }
}

/** Standings in which a call has only so much time. */
const DEADLINED: ReadonlySet<Standing> = new Set(['asked', 'client', 'parked']);
