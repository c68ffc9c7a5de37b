import type { DeferredCall } from '../../../adk/for-server.ts';
import type { Question, WaitingAnswer } from '../../../protocol/index.ts';
import type { Identity } from '../../access/sign-in.ts';
import type { CallOutcome, Failure } from '../../ledger/approvals.ts';
import { hashArgs, timeoutOutcome } from '../../ledger/approvals.ts';
import type { CallRecord } from '../../store/store.ts';
import {
  CALL_TRANSITIONS,
  type CallEvent,
  type CallState,
  firstEvent,
  storedAs,
  waitsFor,
} from './call-states.ts';
import type { PendingAcknowledgement } from './context.ts';

/** States in which a call has a deadline. */
const TIMED: ReadonlySet<CallState> = new Set(['asked', 'client', 'parked']);

/** Whether clients got a call and its confirmation, and the settings of its tool for the approval request. */
interface CallFacts {
  isAnnounced: boolean;
  isConfirming: boolean;
  approvalTimeoutMs?: number | null | undefined;
  approvalMessage?: string | undefined;
}

/** A call whose outcome is not reported yet. Its state changes by the transitions of `call-states.ts`; `putBack` undoes a start that was not stored. */
export class OpenCall {
  /** The time limit of the approval request, as the tool defines it. Null means no limit; undefined means that the server's default applies. */
  readonly approvalTimeoutMs: number | null | undefined;
  /** The text of the approval request, when the tool defines one. */
  readonly approvalMessage: string | undefined;
  private stored: CallRecord;
  private current: CallState;
  /** The outcome of a call that is `ending`. */
  private pendingOutcome: CallOutcome | null = null;
  /** The request that is acknowledged with the outcome, while the outcome waits for a run or for callbacks. */
  private acknowledgement: PendingAcknowledgement | undefined;
  private unwanted = false;
  private waitsForLock = false;
  private ownsLock = false;
  private announced: boolean;
  private confirming: boolean;
  private expiring = false;
  /** Whether the tool was started without using an approval. */
  private ready = false;
  private decider: { by: Identity | null; connection: string | null } = { by: null, connection: null };

  constructor(record: CallRecord, state: CallState, facts: CallFacts) {
    this.stored = record;
    this.current = state;
    this.announced = facts.isAnnounced;
    this.confirming = facts.isConfirming;
    this.approvalTimeoutMs = facts.approvalTimeoutMs;
    this.approvalMessage = facts.approvalMessage;
  }

  get record(): CallRecord {
    return this.stored;
  }

  get state(): CallState {
    return this.current;
  }

  /** Whether clients got the input of the call. */
  get isAnnounced(): boolean {
    return this.announced;
  }

  /** With `confirmations: 'tool'`: whether clients got the confirmation of the call, and it has no output yet. */
  get isConfirming(): boolean {
    return this.confirming;
  }

  /** Whether the call timed out, and the store is asked whether it was decided before. */
  get isExpiring(): boolean {
    return this.expiring;
  }

  /** The user or application that approved the call; null when none did, another process received the approval, or an agent runs again as a tool. */
  get approvedBy(): Identity | null {
    return this.decider.by;
  }

  /** The connection over which the decision came; null when there was no decision, or when it came over HTTP. */
  get approvedOver(): string | null {
    return this.decider.connection;
  }

  /** Whether the call is a question to the user. Its output is the user's answer: it needs no approval, and no tool runs. */
  get asksForAnswer(): boolean {
    return this.stored.question !== null && this.stored.approvalId === null;
  }

  /** Whether the approval request, or the question, is shown and undecided. */
  get isAsked(): boolean {
    return waitsFor(this.current, this.stored) === 'person';
  }

  /** Whether the user has not decided about the call, or not answered its question. The request may not be shown yet. */
  get isUndecided(): boolean {
    return this.current === 'asked' || this.current === 'queued';
  }

  /** Whether the call waits for the user's answer to a question, or for an output of the browser or of a long-running tool. */
  get isAnswerable(): boolean {
    return waitsFor(this.current, this.stored) === 'client' || (this.asksForAnswer && this.isAsked);
  }

  /** Whether the tool runs, or the outcome is known, so that the call may already have had its effect. False for a parked call. */
  get hasStarted(): boolean {
    return this.current === 'running' || this.current === 'ending';
  }

  /** The id of the call whose tool is the agent that made this call; null for a call of the conversation's own agents. */
  get within(): string | null {
    return this.stored.agents?.within ?? null;
  }

  /** Whether the tool of the call is an agent that waits for calls inside it. */
  get isPaused(): boolean {
    return this.current === 'parked' && this.stored.agents?.isAgent === true;
  }

  /** Whether the tool was started without using an approval. */
  get wasReady(): boolean {
    return this.ready;
  }

  /** Whether the call was approved and the approval is not used yet. */
  get holdsApproval(): boolean {
    return this.current === 'approved';
  }

  /** Whether the call must end as soon as it is stored, because it was interrupted while it was being stored. */
  get isUnwanted(): boolean {
    return this.unwanted;
  }

  /** The outcome that waits for a run; null for a call that is not `ending`. */
  get outcome(): CallOutcome | null {
    return this.pendingOutcome;
  }

  /** The request that is acknowledged with the outcome, when the outcome waits for a run or for callbacks. */
  get acknowledges(): PendingAcknowledgement | undefined {
    return this.acknowledgement;
  }

  /** Whether the server has work to do for the call, now or when it gets the tool lock. */
  get isAtWork(): boolean {
    const { current, expiring, waitsForLock } = this;
    return expiring || waitsForLock || current === 'issuing' || current === 'running' || current === 'ending';
  }

  /** Applies an event. Returns false when the state of the call does not allow the event. */
  apply(event: Exclude<CallEvent, 'end'>): boolean {
    const next = CALL_TRANSITIONS[this.current][event];
    if (next === undefined || next === 'ending') return false;
    if (event === 'take') this.ready = this.current !== 'approved';
    this.enter(next);
    if (next !== 'settled') this.stored = { ...this.stored, status: storedAs(next) };
    return true;
  }

  private enter(state: CallState): void {
    this.current = state;
    this.waitsForLock = false;
    this.unwanted = false;
    this.pendingOutcome = null;
    this.acknowledgement = undefined;
  }

  /** Records that an output arrived from a client, which the after-tool callbacks process next. Returns false when the call expects no output. */
  receive(acknowledges: PendingAcknowledgement | undefined): boolean {
    if (!this.apply(this.current === 'asked' ? 'answer' : 'take')) return false;
    this.acknowledgement = acknowledges;
    return true;
  }

  /** Keeps an outcome until a run can pass it to the model. Returns false when the call cannot end in this state. */
  endLater(outcome: CallOutcome, acknowledges?: PendingAcknowledgement): boolean {
    if (CALL_TRANSITIONS[this.current].end === undefined) return false;
    this.enter('ending');
    this.pendingOutcome = outcome;
    this.acknowledgement = acknowledges;
    return true;
  }

  /** Removes and returns the request that was to be acknowledged with the outcome. */
  takeAcknowledgement(): PendingAcknowledgement | undefined {
    const { acknowledgement } = this;
    this.acknowledgement = undefined;
    return acknowledgement;
  }

  /** Marks a call that is still being stored, so that it ends once it is stored; false in any other state. */
  discard(): boolean {
    if (this.current !== 'issuing') return false;
    this.unwanted = true;
    return true;
  }

  /** Records that the call waits for the tool lock. Returns false when the call cannot run, or waits for the lock already. */
  queueForLock(): boolean {
    if ((this.current !== 'approved' && this.current !== 'ready') || this.waitsForLock) return false;
    this.waitsForLock = true;
    return true;
  }

  /** Records that the call holds the tool lock although its tool has returned. The lock is released after the write of what the tool returned. */
  keepLock(): void {
    this.ownsLock = true;
  }

  /** Returns whether the call still holds the tool lock after the end of its tool, and forgets that, so that the lock is released only once. */
  releaseLock(): boolean {
    const { ownsLock } = this;
    this.ownsLock = false;
    return ownsLock;
  }

  /** Puts a call whose start could not be stored back into its state before the start. */
  putBack(): void {
    this.enter(this.ready ? 'ready' : 'approved');
    this.stored = { ...this.stored, status: storedAs(this.current) };
  }

  /**
   * Handles a tool that asks for approval while it runs: its call then waits like a call that needs approval from the start. Returns false when the
   * state of the call does not allow that.
   */
  askLate(approvalId: string, question: Question): boolean {
    if (!this.apply('ask')) return false;
    this.stored = { ...this.stored, approvalId, question };
    return true;
  }

  /** Keeps the answer that the user sent to the tool together with the approval. */
  setAnswer(answer: unknown): void {
    this.stored = { ...this.stored, answer };
  }

  /** Sets the time until which the call waits; null means no limit. */
  setDeadline(expiresAt: number | null): void {
    this.stored = { ...this.stored, expiresAt };
  }

  setAnnounced(isAnnounced: boolean): void {
    this.announced = isAnnounced;
  }

  setConfirming(isConfirming: boolean): void {
    this.confirming = isConfirming;
  }

  /** Records that the call timed out, and that the store is asked whether it was decided before. */
  startExpiring(): void {
    this.expiring = true;
  }

  stopExpiring(): void {
    this.expiring = false;
  }

  /** Marks the call as expired, because the store says that its approval request or question timed out. */
  markExpired(): void {
    this.stored = { ...this.stored, status: 'expired' };
  }

  /** Records the user or application that approved the call; null as in `approvedBy`. */
  setApprover(by: Identity | null): void {
    this.decider = { ...this.decider, by };
  }

  /** Records the connection over which the decision came; null for HTTP. */
  setDecidedOver(connection: string | null): void {
    this.decider = { ...this.decider, connection };
  }
}

/** The calls of a session that have no reported outcome yet, in the order in which the agent made them. */
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

  hasIn(messageId: string): boolean {
    for (const { record } of this.open.values()) if (record.messageId === messageId) return true;
    return false;
  }

  /** The calls that are in one of these states. */
  inState(...states: CallState[]): OpenCall[] {
    return this.all.filter(({ state }) => states.includes(state));
  }

  /** The call, if its state is `running`; otherwise undefined. */
  running(id: string): OpenCall | undefined {
    const call = this.open.get(id);
    return call?.state === 'running' ? call : undefined;
  }

  /** Whether the server works on any of the calls, or is about to. */
  get areAtWork(): boolean {
    for (const call of this.open.values()) if (call.isAtWork) return true;
    return false;
  }

  /**
   * Whether the approval request of an open call was shown, even if it is decided. Leaves out the call of an agent that is used as a tool once the agent
   * has started, because calls inside the agent may ask too.
   */
  get isShowing(): boolean {
    return this.all.some(
      ({ record, state }) =>
        record.approvalId !== null &&
        state !== 'queued' &&
        state !== 'issuing' &&
        !(record.agents?.isAgent && (state === 'running' || state === 'parked' || state === 'ready')),
    );
  }

  /** Whether an approval request or question timed out, and the store is asked whether the user decided or answered before. */
  get areExpiring(): boolean {
    for (const { isExpiring } of this.open.values()) if (isExpiring) return true;
    return false;
  }

  /**
   * The first call that the server continues once a client listens: it runs the tool, hands the call to the browser, or asks the user.
   */
  get nextTakenUp(): CallRecord | null {
    const isDue = ({ state, asksForAnswer }: OpenCall) =>
      state === 'ready' || state === 'approved' || (state === 'queued' && (asksForAnswer || !this.isShowing));
    return this.all.find(isDue)?.record ?? null;
  }

  /** The ids of the calls whose approval request or question is shown and undecided. */
  get shown(): ReadonlySet<string> {
    return new Set(this.all.filter(({ isAsked }) => isAsked).map(({ record }) => record.id));
  }

  /**
   * The calls that clients see and that wait for the user or the browser. With `confirmations: 'tool'`, an open confirmation is listed with its own
   * id instead of the id of its call.
   */
  get waitingAnswers(): WaitingAnswer[] {
    return this.all.flatMap(({ record, state, isConfirming }): WaitingAnswer[] => {
      const { id, approvalId, messageId } = record;
      const toolCallId = isConfirming && approvalId !== null ? approvalId : id;
      const who = waitsFor(state, record);
      return who === 'person' || who === 'client' ? [{ toolCallId, messageId, waitsFor: who }] : [];
    });
  }

  /** Adds a call that the agent made. It is `issuing` until it is stored. */
  issue(
    call: DeferredCall,
    messageId: string,
    { now, newId, clientDeadline }: { now: number; newId: () => string; clientDeadline: number | null },
  ): OpenCall {
    const approvalId = call.asks ? `approval_${newId()}` : null;
    const question: Question | null = call.question ?? (call.asks ? { kind: 'approve' } : null);
    const next = CALL_TRANSITIONS.issuing[firstEvent({ question, runsOn: call.runsOn })] ?? 'settled';
    return this.add(
      {
        id: call.id,
        approvalId,
        toolName: call.toolName,
        args: call.args,
        argsHash: hashArgs(call.args),
        runsOn: call.runsOn,
        status: storedAs(next),
        question,
        answer: null,
        reason: null,
        messageId,
        agent: call.agent,
        invocationId: call.invocationId,
        branch: call.branch ?? null,
        ...(call.agents ? { agents: call.agents } : {}),
        issuedAt: now,
        expiresAt: next === 'client' && !call.isLongRunning ? clientDeadline : null,
      },
      'issuing',
      {
        isAnnounced: false,
        isConfirming: false,
        approvalTimeoutMs: call.approvalTimeoutMs,
        approvalMessage: call.approvalMessage,
      },
    );
  }

  add(record: CallRecord, state: Exclude<CallState, 'ending'>, facts: CallFacts): OpenCall {
    const call = new OpenCall(record, state, facts);
    this.open.set(record.id, call);
    return call;
  }

  /** Settles a call and removes it; false when it is settled already. */
  settle(call: OpenCall): boolean {
    return call.apply('settle') && this.open.delete(call.record.id);
  }

  /** The calls that timed out and are not being ended yet, with their outcome. */
  overdue(now: number): { call: OpenCall; outcome: Failure }[] {
    return this.all.flatMap((call) => {
      const { expiresAt } = call.record;
      const outcome = expiresAt !== null && expiresAt <= now ? timeoutOutcome(call.record) : null;
      return outcome && call.state !== 'ending' && !call.isExpiring ? [{ call, outcome }] : [];
    });
  }

  /** When the next call times out; null when none does. Called for every input, so it allocates no array. */
  nextDeadline(): number | null {
    let next: number | null = null;
    for (const { state, record, isExpiring } of this.open.values()) {
      const { expiresAt } = record;
      if (expiresAt === null || isExpiring || !TIMED.has(state)) continue;
      if (next === null || expiresAt < next) next = expiresAt;
    }
    return next;
  }
}
