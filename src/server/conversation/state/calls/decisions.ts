import type { Answer } from '../../../../protocol/index.ts';
import type { Identity } from '../../../access/sign-in.ts';
import {
  type CallOutcome,
  decisionIn,
  hashArgs,
  SIGNED_OUT_END,
  type Verdict,
} from '../../../ledger/approvals.ts';
import { decisionFrom, outcomeFrom } from '../../../ledger/questions.ts';
import type { CallRecord } from '../../../store/store.ts';
import type { Context, PendingAcknowledgement } from '../context.ts';
import type { GivenAnswers } from '../effects.ts';
import type { DecidedBefore } from '../inputs.ts';
import type { Draft, Messages } from '../messages.ts';
import type { OpenCall, OpenCalls } from '../open-calls.ts';

type Decision = { approved: boolean; reason?: string | undefined };

/** The next step of a call after an answer. */
export type Step =
  | { call: OpenCall; next: 'run' }
  | { call: OpenCall; next: 'hand-over' }
  /** `acknowledges`: the request whose acceptance is stored with the outcome. */
  | { call: OpenCall; next: 'end'; outcome: CallOutcome; acknowledges?: PendingAcknowledgement };

/** The steps that the answers of a request allow, in the order of their calls, and the reasons why answers were rejected. */
export interface AppliedAnswers {
  steps: Step[];
  rejected: string[];
}

/** Applies answers to open calls: changes the state of each call, and returns the steps that the answers allow next. */
export class Decisions {
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;

  constructor(context: Context, open: OpenCalls, messages: Messages) {
    this.context = context;
    this.open = open;
    this.messages = messages;
  }

  /** Applies the verdict of the ledger on each decision, and then the outputs and failures that the client sent. */
  apply({ answers, by, request }: GivenAnswers, verdicts: Verdict[]): AppliedAnswers {
    const { open, messages } = this;
    const steps = new Map<string, Step>();
    const rejected: string[] = [];
    const touched = new Set<Draft>();
    const decisions = answers.filter((answer) => answer.kind === 'decision');
    decisions.forEach((answer, index) => {
      const verdict = verdicts[index];
      if (verdict?.kind === 'refused') rejected.push(verdict.why);
      const step = verdict && (this.learn(verdict, by) ?? this.applyDecision(answer, verdict, by));
      if (verdict?.kind === 'counts' && !verdict.isRepeated)
        this.publish(answer, verdict.call, request.connection ?? by.user);
      if (!step) return;
      step.call.setDecidedOver(request.connection);
      steps.set(step.call.record.id, step);
      const draft = verdict.kind === 'counts' ? messages.get(step.call.record.messageId) : undefined;
      if (draft) touched.add(draft);
    });
    // The tools may run for long. A client that loads the message meanwhile must get the decisions, so the message is stored now.
    for (const draft of touched) messages.save(draft);
    for (const answer of answers) {
      if (answer.kind === 'decision') continue;
      const meant = this.outcomeOf(answer);
      if (!meant) continue;
      if ('rejected' in meant) rejected.push(meant.rejected);
      else steps.set(meant.call.record.id, { call: meant.call, next: 'end', outcome: meant.outcome });
    }
    for (const { call } of steps.values()) {
      const draft = messages.get(call.record.messageId);
      draft?.setCause({ ...draft.cause, request: request.forTools ?? null });
    }
    const order = [...open.ids()];
    const placeOf = ({ call }: Step) => order.indexOf(call.record.id);
    return { steps: [...steps.values()].sort((a, b) => placeOf(a) - placeOf(b)), rejected };
  }

  /** Sends watchers a decision (`data-decided`), with the id of the connection, or the name of the user, that made it. */
  private publish(
    { approved, reason }: Decision,
    { id: toolCallId, messageId }: CallRecord,
    by: string,
  ): void {
    this.messages.inject({
      type: 'data-decided',
      data: { toolCallId, messageId, approved, ...(reason === undefined ? {} : { reason }), by },
      transient: true,
    });
  }

  /** If the ledger refused a decision because another process has stored an earlier one, applies the earlier decision instead. */
  private learn(verdict: Verdict, { user: by }: Identity): Step | null {
    const decided = verdict.kind === 'refused' ? verdict.decided : undefined;
    const call = decided && this.open.get(decided.id);
    return decided && call?.isAsked ? this.decidedBefore(call, { call: decided, by }) : null;
  }

  /** Applies a decision that was already stored, for instance by another process. Returns the step that it allows. */
  decidedBefore(call: OpenCall, { call: decided, by }: DecidedBefore): Step | null {
    const { open, messages } = this;
    const approved = decisionIn(decided);
    if (approved === null) {
      // The call is neither approved nor denied: its approval was used, or it has ended. So nothing is left to do for it here.
      open.settle(call);
      return null;
    }
    // Only a shown approval request can be decided, and this process may not have shown it yet.
    call.apply('show');
    const decision = { approved, reason: decided.reason ?? undefined };
    this.publish(decision, decided, by);
    const step = this.applyDecision(decision, { kind: 'counts', call: decided, isRepeated: false }, null);
    const draft = messages.get(decided.messageId);
    if (draft) messages.save(draft);
    return step;
  }

  /** Changes the state of a call by a decision, and returns the step that the decision allows; null when the decision has no effect. */
  private applyDecision({ approved, reason }: Decision, verdict: Verdict, by: Identity | null): Step | null {
    const { context, open } = this;
    const call =
      verdict.kind === 'counts' || verdict.kind === 'ended' ? open.get(verdict.call.id) : undefined;
    if (!call) return null;
    if (verdict.kind === 'ended') {
      call.apply('deny');
      return { call, next: 'end', outcome: SIGNED_OUT_END };
    }
    if (verdict.kind !== 'counts') return null;
    const { messageId, runsOn, id: callId } = call.record;
    context.emit({ type: 'mark-decided', messageId, callId, approved, reason });
    if (!approved) {
      call.apply('deny');
      return { call, next: 'end', outcome: { kind: 'denied', reason: verdict.call.reason } };
    }
    call.apply('approve');
    call.setAnswer(verdict.call.answer);
    call.setApprover(by);
    return { call, next: runsOn === 'server' ? 'run' : 'hand-over' };
  }

  /** With `confirmations: 'tool'`, converts the output of a confirmation to the decision that it contains. Returns any other answer unchanged. */
  asDecision(answer: Answer): Answer {
    if (answer.kind !== 'output' || this.context.options.confirmations !== 'tool') return answer;
    const call = this.open.records.find(({ approvalId }) => approvalId === answer.toolCallId);
    return call ? (decisionFrom(call, answer.output) ?? answer) : answer;
  }

  /** For an output or a failure that a client sent: the outcome of its call, or why the answer is rejected; null when the answer is ignored. */
  private outcomeOf(
    answer: Exclude<Answer, { kind: 'decision' }>,
  ): { call: OpenCall; outcome: CallOutcome } | { rejected: string } | null {
    const call = this.open.get(answer.toolCallId);
    // A client may answer only browser calls, questions and long-running calls. An output for another call is ignored.
    if (!call?.isAnswerable) return null;
    if (answer.input !== undefined && hashArgs(answer.input) !== call.record.argsHash) {
      return { rejected: 'arguments differ from those of the call' };
    }
    const outcome = outcomeFrom(call.record, answer);
    if (!('rejected' in outcome)) return { call, outcome };
    this.context.store([{ do: 'refuse', call: call.record, reason: outcome.rejected }], null);
    return outcome;
  }
}
