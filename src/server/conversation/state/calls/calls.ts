import type { DeferredCall, Outcome } from '../../../../adk/for-server.ts';
import { ProtocolError, type Question } from '../../../../protocol/index.ts';
import type { SignInStatus } from '../../../access/sign-in.ts';
import {
  type CallOutcome,
  INTERRUPTION,
  outcomeOf,
  responseOf,
  SIGNED_OUT_END,
  timeoutText,
} from '../../../ledger/approvals.ts';
import { askedTwice } from '../../../ledger/questions.ts';
import type { AgentRun } from '../agent-run.ts';
import { CallReports } from '../call-reports.ts';
import { firstEvent } from '../call-states.ts';
import { type Context, RETRY_MS } from '../context.ts';
import type { LateCall, Purpose, Ticket } from '../effects.ts';
import type { DecidedBefore } from '../inputs.ts';
import type { Draft, Messages } from '../messages.ts';
import type { OpenCall, OpenCalls } from '../open-calls.ts';
import { orphansIn, resumeAgents } from '../paused-agents.ts';
import { ApprovalRequests } from './approval-requests.ts';
import { CallChunks } from './call-chunks.ts';
import { Decisions, type Step } from './decisions.ts';
import { Outcomes } from './outcomes.ts';

type Expiry = Extract<Purpose, { for: 'expiry' }>;
type Execution = Extract<Purpose, { for: 'execution' }>;

/**
 * Facts about a call from just before its start: whether clients had the call and its open confirmation, and a mark in the effects. The effects after
 * the mark are performed when the start is stored.
 */
type BeforeStart = Pick<Execution, 'isAnnounced' | 'isConfirming'> & { mark: number };

/**
 * Leads every call, over SSE and BIDI, through its states: the call is stored and shown, the user decides, the server or the browser runs it, and it
 * ends. `open-calls.ts` has the state of each call, and `call-states.ts` has the transitions.
 */
export class Calls {
  readonly chunks: CallChunks;
  readonly requests: ApprovalRequests;
  readonly decisions: Decisions;
  readonly outcomes: Outcomes;
  readonly reports: CallReports;
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;
  private readonly run: AgentRun;
  /** The time at which the calls whose start could not be stored are retried; null when there are no such calls. */
  private retriesAt: number | null = null;
  /** Calls that timed out while an HTTP request was about to start. The response to that request reports them. */
  private readonly late: LateCall[] = [];

  constructor(context: Context, open: OpenCalls, messages: Messages, run: AgentRun) {
    this.context = context;
    this.open = open;
    this.messages = messages;
    this.run = run;
    this.chunks = new CallChunks(context, messages, run);
    this.requests = new ApprovalRequests(context, open, messages, run, this.chunks);
    this.decisions = new Decisions(context, open, messages);
    this.outcomes = new Outcomes(context, open, messages, run, this.chunks, this.requests);
    this.reports = new CallReports(context, open, messages, run);
  }

  /** Stores a call that ADK deferred. `issued` continues with the call when it is stored. `n`: the number of the run that made the call. */
  issue(call: DeferredCall, draft: Draft, ticket: Ticket, n: number): void {
    const { context, open, messages, run } = this;
    const { now, newId } = context;
    messages.closeBlocksOf(draft);
    const clientDeadline = this.clientDeadline();
    const issued = open.issue(call, draft.id, { now, newId, clientDeadline });
    issued.setAnnounced(run.takeAnnounced(call.id));
    // The effects after this write do not wait for it. So an interruption takes effect at once, although the call is still being stored.
    context.emit({
      type: 'store-apart',
      writes: [{ do: 'issue', call: issued.record }],
      purpose: { for: 'call', callId: call.id, ticket, n },
    });
  }

  /** Continues with a call that is stored now: asks the user, hands it to the browser, or runs it. */
  issued(callId: string, ticket: Ticket): void {
    const { context, open, messages, run, chunks, requests, outcomes } = this;
    const call = open.get(callId);
    const draft = call && messages.get(call.record.messageId);
    if (call) {
      const { isUnwanted } = call;
      const event = firstEvent(call.record);
      call.apply(event);
      if (isUnwanted || !draft) {
        // The call was interrupted while it was being stored. Clients do not have it, unless it was announced before.
        if (call.isAnnounced) this.settleLate(call, INTERRUPTION);
        else outcomes.endUnannounced(call, INTERRUPTION);
      } else {
        // An agent that is used as a tool may make a call while the model writes another message. Then the conversation stays busy.
        const isActive = call.within === null || messages.active === draft;
        if (run.isLive && event !== 'allow' && isActive) messages.setWorking(false);
        messages.closeBlocksOf(draft);
        if (event === 'hand-over' && !call.isAnnounced && !context.policy.hasResponse) requests.hold(call);
        else if (event !== 'ask') {
          chunks.announce(call, draft);
          messages.save(draft);
          if (event === 'allow') this.queueForLock(call);
        }
        requests.showNext();
        for (const { id, call: made } of run.takeAnnouncedNext())
          chunks.announceEarly({ id, toolName: made.toolName, args: made.args }, made.facts, made.draft);
      }
    }
    context.emit({ type: 'release-call', ticket, error: null });
  }

  /** Ends a call that could not be stored. The agent gets an error as the response to the call. */
  notIssued({ callId, ticket, n }: Extract<Purpose, { for: 'call' }>): void {
    const { open } = this;
    const call = open.get(callId);
    const errorText = 'The call could not be stored, so its tool did not run.';
    if (call?.isAnnounced && !this.run.isOpenAs(n)) this.settleLate(call, { kind: 'error', errorText });
    else if (call) {
      if (call.isAnnounced) this.run.noteAnnounced(callId);
      open.settle(call);
      this.endLeftover(call);
    }
    this.context.emit({ type: 'release-call', ticket, error: errorText });
  }

  /** Ends a call that was announced in a response which has ended, and sends clients the outcome outside of a response. */
  private settleLate(call: OpenCall, outcome: CallOutcome): void {
    this.outcomes.publishSettled(this.outcomes.endQuietly(call, outcome));
    this.endLeftover(call);
  }

  private endLeftover({ record }: OpenCall): void {
    this.messages.endLeftover(this.messages.get(record.messageId));
  }

  /** Ends a call of an interrupted turn without recording it: the history, and a live model, get the response `interrupted`, and clients get nothing. */
  decline(call: DeferredCall, ticket: Ticket): void {
    const { context, run } = this;
    const mark = context.mark();
    run.sendResponse(call, responseOf(INTERRUPTION));
    context.storeInAnyCase([{ do: 'append-interrupted', call }], context.takeSince(mark));
    context.emit({ type: 'release-call', ticket, error: null });
  }

  /** Ends a call whose approval request or question could not be stored. */
  notShown(purpose: Extract<Purpose, { for: 'approval-request' }>): void {
    const call = this.requests.notShown(purpose);
    if (call)
      this.outcomes.end(call, {
        kind: 'error',
        errorText: 'The approval request could not be stored, so the tool did not run.',
      });
  }

  /** Performs the step that an answer allows: runs the call, hands it to the browser, or ends it. */
  perform(step: Step): void {
    const { chunks, outcomes } = this;
    const { call, next } = step;
    if (next === 'run') return this.queueForLock(call);
    if (next === 'hand-over') return this.handOver(call);
    const { outcome, acknowledges } = step;
    if (outcome.kind === 'output' && this.context.options.callsBack)
      return this.runCallbacks(step, outcome.output);
    // A browser may send the decision and the output in one request. The approval is consumed in that case, too.
    const before = this.beforeStart(call);
    chunks.confirm(call);
    if (call.holdsApproval) this.consume(call, before);
    outcomes.end(call, outcome, { acknowledges });
  }

  /** Passes an output of a client to the after-tool callbacks, before the output is stored or sent. */
  private runCallbacks({ call, acknowledges }: Extract<Step, { next: 'end' }>, output: unknown): void {
    const { holdsApproval, isAsked, record } = call;
    if (!call.receive(acknowledges)) return;
    if (isAsked) this.context.store([{ do: 'answer', call: record, reason: null }], null);
    const before = this.beforeStart(call);
    this.chunks.confirm(call);
    this.context.emit({ type: 'run-callbacks', call: call.record, output });
    if (holdsApproval) this.consume(call, before);
  }

  /** Hands an approved call to the browser. */
  private handOver(call: OpenCall): void {
    const { messages, chunks } = this;
    const draft = messages.get(call.record.messageId);
    if (!draft || !call.apply('hand-over')) return;
    call.setDeadline(this.clientDeadline());
    const before = this.beforeStart(call);
    chunks.confirm(call);
    if (this.context.policy.hasResponse) chunks.repeatInput(call, draft);
    messages.save(draft);
    this.consume(call, before);
  }

  /** Continues the calls that another run, or another process, left open: runs them, hands them to the browser, or shows the next approval request. */
  takeUp(): void {
    for (const call of this.open.inState('ready', 'approved')) {
      if (call.record.runsOn === 'server') this.queueForLock(call);
      else this.handOver(call);
    }
    this.requests.showNext();
  }

  /** The deadline for the output of a call that is handed to the browser now; null means no limit. */
  private clientDeadline(): number | null {
    const { now, options } = this.context;
    return options.clientTimeoutMs === null ? null : now + options.clientTimeoutMs;
  }

  /**
   * To be called just before a call starts. Returns whether clients already have the call and its open confirmation, in case the start cannot be stored.
   * The effects that are emitted from now on are performed after the write of the start.
   */
  private beforeStart(call: OpenCall): BeforeStart {
    const { context, messages, chunks } = this;
    const draft = messages.get(call.record.messageId);
    // With `confirmations: 'tool'`, chunks of this message are sent only after the write. The `start` of the message does not depend on the write, so
    // it is sent before.
    if (draft && chunks.usesConfirmations) messages.turnTo(draft);
    const { isAnnounced, isConfirming } = call;
    return { mark: context.mark(), isAnnounced, isConfirming };
  }

  /** Stores the start of a call. This write also consumes the approval of an approved call. The effects since `beforeStart` are performed after the write. */
  private consume(call: OpenCall, { mark, ...seen }: BeforeStart): void {
    const { context } = this;
    const { id: callId } = call.record;
    const after = context.takeSince(mark);
    const { record, wasReady } = call;
    context.store([{ do: 'take', call: record, wasReady }], { for: 'execution', callId, ...seen }, after);
  }

  private queueForLock(call: OpenCall): void {
    if (call.queueForLock()) this.context.emit({ type: 'acquire-lock', call: call.record });
  }

  /** Continues with a call that got the tool lock: first checks that its approver is still signed in, or runs it at once if this process knows no approver. */
  lockAcquired(callId: string): void {
    const by = this.open.get(callId)?.approvedBy;
    if (by) this.context.emit({ type: 'check-sign-in', by, question: { why: 'execution', callId } });
    else this.runTool(callId);
  }

  /**
   * Runs a call after the sign-in of its approver was checked, or ends it if the approver is signed out. If the check itself failed, the call runs,
   * because the sign-in was also checked at the decision.
   */
  signInChecked(callId: string, status: SignInStatus): void {
    if (status === 'signed-out') this.withdraw(callId);
    else this.runTool(callId);
  }

  /** Ends a call whose approver is signed out: it never runs. */
  private withdraw(callId: string): void {
    const { context } = this;
    context.emit({ type: 'release-lock', callId });
    const call = this.open.get(callId);
    if (!call) return;
    context.store([{ do: 'withdraw', call: call.record }], null);
    this.chunks.confirm(call);
    this.outcomes.end(call, SIGNED_OUT_END);
  }

  private runTool(callId: string): void {
    const { context, chunks } = this;
    const call = this.open.get(callId);
    if (!call?.apply('take')) return context.emit({ type: 'release-lock', callId });
    const before = this.beforeStart(call);
    chunks.confirm(call);
    context.emit({ type: 'run-tool', call: call.record });
    this.consume(call, before);
  }

  /** Handles a start that was not stored: the write failed (`isFailure`), or another process has already started or ended the call. */
  notStarted({ callId, isAnnounced, isConfirming }: Execution, isFailure: boolean): void {
    const { context, open, messages } = this;
    context.emit({ type: 'release-lock', callId });
    const call = open.get(callId);
    if (!call) return;
    // The callbacks got no output, so the client must send its answer again.
    const pending = call.takeAcknowledgement();
    if (pending) context.settleRequest(pending, false);
    if (!isFailure) {
      open.settle(call);
      return;
    }
    // The start is retried after `RETRY_MS`. The chunks that depend on the start are sent then.
    call.putBack();
    call.setAnnounced(isAnnounced);
    call.setConfirming(isConfirming);
    this.retriesAt = context.now + RETRY_MS;
    const error = new ProtocolError(
      'internal',
      'The start of a tool call could not be stored. The server tries again.',
    );
    const { approvedOver: connection } = call;
    if (connection !== null) context.emit({ type: 'reply-to', connection, error });
    else messages.inject({ type: 'data-error', data: error.toWire(), transient: true });
  }

  /** The time at which the calls whose start could not be stored are retried; null when there are no such calls. */
  get retryAt(): number | null {
    return this.retriesAt;
  }

  /** Retries the calls whose start could not be stored, when it is time. */
  retry(): void {
    if (this.retriesAt === null || this.retriesAt > this.context.now) return;
    this.retriesAt = null;
    this.takeUp();
  }

  /**
   * Handles what a tool on the server, or the after-tool callbacks, returned: an outcome, that an output comes later, or that the tool asks the user first.
   */
  toolEnded(callId: string, outcome: Outcome): void {
    const { context, messages, run, outcomes } = this;
    const call = this.open.running(callId);
    if (!call) return context.emit({ type: 'release-lock', callId });
    call.keepLock();
    if (this.reports.waiting.has(callId)) this.reports.finish(callId);
    const { approvalId, messageId } = call.record;
    if (outcome.kind === 'waits') {
      call.apply('park');
      // A live model says nothing until it gets the output, which may take hours, so the next user message does not wait for it. An agent that is
      // driven turn by turn must end its run first, and the next user message waits for that.
      if (run.isLive && messages.active?.id === messageId) messages.setWorking(false);
      // No deadline: the output of a long-running tool, or a decision about a call inside an agent, may come days later.
      call.setDeadline(null);
      context.store([{ do: 'park', call: call.record }], null);
      return outcomes.releaseLock(call);
    }
    if (outcome.kind !== 'asks') return outcomes.end(call, outcomeOf(outcome));
    if (approvalId === null) return this.askLate(call, outcome.question);
    outcomes.end(call, askedTwice(call.record, outcome.question));
  }

  /**
   * Continues each agent that is used as a tool when the calls that it made have ended, ends calls whose agent has ended, and shows the next approval
   * request if a call has ended. Called after every input.
   */
  continue(): void {
    const { context, open } = this;
    for (const call of orphansIn(open)) this.outcomes.end(call, INTERRUPTION);
    for (const call of context.isClosed ? [] : resumeAgents(open)) {
      context.store([{ do: 'resume', call: call.record }], null);
      this.queueForLock(call);
    }
    this.requests.showDue();
  }

  /**
   * Shows the approval request of a tool that asks for approval while it runs. Such a tool must ask before it has any effect, because it runs again, from its
   * beginning, once the user has approved.
   */
  private askLate(call: OpenCall, question: Question): void {
    const { context, messages, run, outcomes } = this;
    if (!call.askLate(`approval_${context.newId()}`, question)) return;
    if (run.isLive && messages.active?.id === call.record.messageId) messages.setWorking(false);
    const { record, isAnnounced } = call;
    const mark = context.mark();
    this.requests.showNext();
    context.store(
      [{ do: 'ask', call: record, reason: null }],
      { for: 'approval-request', callId: record.id, isAnnounced, beside: [] },
      context.takeSince(mark),
    );
    outcomes.releaseLock(call);
  }

  /**
   * Ends calls that the model cancelled; the model gets no response to them. A tool that runs on the server is not stopped: its call ends with its outcome.
   * The call of a running browser tool ends at once, and its page aborts the tool.
   */
  cancel(callIds: readonly string[], outcome: CallOutcome): void {
    for (const id of callIds) {
      const call = this.open.get(id);
      if (!call) continue;
      this.run.cancel(id);
      if (!call.hasStarted) this.outcomes.end(call, outcome);
    }
    this.requests.showNext();
  }

  /** Ends the calls that timed out, except those whose request is not shown yet. Before a shown one ends, the store is asked for a decision or an answer. */
  expire(): void {
    for (const { call, outcome } of this.open.overdue(this.context.now)) {
      if (call.isAsked) this.startExpiring(call, false);
      else if (!call.isUndecided) this.outcomes.end(call, outcome);
    }
  }

  /**
   * Ends every call that timed out, before an HTTP request starts. Returns the ended calls, which the response to that request reports. Null while
   * the store is asked whether the user decided or answered in time; then the caller must try again.
   */
  expireQuietly(): LateCall[] | null {
    for (const { call, outcome } of this.open.overdue(this.context.now)) {
      if (call.isUndecided) this.startExpiring(call, true);
      else this.late.push(this.outcomes.endQuietly(call, outcome));
    }
    return this.open.areExpiring ? null : this.late.splice(0);
  }

  /** Expires an approval request or question in the store, unless this or another process has stored a decision or an answer before. */
  private startExpiring(call: OpenCall, isQuiet: boolean): void {
    const { id: callId } = call.record;
    call.startExpiring();
    const purpose: Purpose = { for: 'expiry', callId, isQuiet };
    this.context.store([{ do: 'expire', call: call.record, reason: timeoutText(call.record) }], purpose);
  }

  /** Ends a call whose approval request or question timed out, or applies the decision that was stored before. */
  expired({ callId, isQuiet }: Expiry, stored: DecidedBefore | null): void {
    const call = this.open.get(callId);
    // The ledger stores a decision that came after the deadline as `expired`, so the user has not decided in time.
    const decided = stored?.call.status === 'expired' ? null : stored;
    if (call?.isUndecided) {
      const step = decided ? this.decisions.decidedBefore(call, decided) : null;
      if (!decided) {
        call.markExpired();
        this.endExpired(call, isQuiet);
      } else if (!isQuiet && step) this.perform(step);
      else if (step?.next === 'end') this.late.push(this.outcomes.endQuietly(call, step.outcome));
    }
    call?.stopExpiring();
  }

  /** Ends a call whose approval request or question timed out, although the timeout could not be stored. */
  notExpired({ callId, isQuiet }: Expiry): void {
    const call = this.open.get(callId);
    if (call?.isUndecided) this.endExpired(call, isQuiet);
    call?.stopExpiring();
  }

  private endExpired(call: OpenCall, isQuiet: boolean): void {
    const outcome: CallOutcome = { kind: 'error', errorText: timeoutText(call.record) };
    call.stopExpiring();
    if (isQuiet) this.late.push(this.outcomes.endQuietly(call, outcome));
    else this.outcomes.end(call, outcome);
  }

  /** Sends clients the errors of calls that timed out (`late`), because the HTTP request whose response should report them did not start. */
  publishLate(): void {
    for (const one of this.late.splice(0)) this.outcomes.publishSettled(one);
  }
}
