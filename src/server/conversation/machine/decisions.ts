import type { Answer } from '../../../protocol/index.ts';
import type { Identity } from '../../access/sign-in.ts';
import {
  decisionIn,
  hashArgs,
  type Settlement,
  SIGNED_OUT_END,
  type Verdict,
} from '../../ledger/approvals.ts';
import type { CallRecord } from '../../store/store.ts';
import type { GivenAnswers } from './effects.ts';
import type { DecidedBefore } from './inputs.ts';
import type { Writing } from './messages.ts';
import type { OpenCall, Step } from './open-call.ts';
import type { Shared } from './shared.ts';

type Decision = { approved: boolean; reason?: string | undefined };

/** What the answers allow, in the order of the calls, and why some were refused. */
export interface Applied {
  steps: Step[];
  refused: string[];
}

/** What answers mean for the calls that they are about: how each call moves, and what that lets happen next. */
export class Decisions {
  private readonly parts: Shared;

  constructor(parts: Shared) {
    this.parts = parts;
  }

  /** Applies answers that were read: what each decision led to in the store, then what the browser gave. */
  apply({ answers, by, asker }: GivenAnswers, verdicts: Verdict[]): Applied {
    const { open, messages } = this.parts;
    const steps = new Map<string, Step>();
    const refused: string[] = [];
    const touched = new Set<Writing>();
    const decisions = answers.filter((answer) => answer.kind === 'decision');
    decisions.forEach((answer, index) => {
      const verdict = verdicts[index];
      if (verdict?.kind === 'refused') refused.push(verdict.why);
      const step = verdict && (this.learn(verdict, by) ?? this.applyDecision(answer, verdict, by));
      if (verdict?.kind === 'counts' && !verdict.isRepeated)
        this.tellDecided(answer, verdict.call, asker.connection ?? by.user);
      if (!step) return;
      step.call.approvedOver = asker.connection;
      steps.set(step.call.record.id, step);
      const writing = verdict.kind === 'counts' ? messages.get(step.call.record.messageId) : undefined;
      if (writing) touched.add(writing);
    });
    // A tool may run for long, or for ever: whoever looks meanwhile sees what was decided.
    for (const writing of touched) messages.save(writing);
    for (const answer of answers) {
      if (answer.kind === 'decision') continue;
      const meant = this.outputFor(answer);
      if (!meant) continue;
      if ('refused' in meant) refused.push(meant.refused);
      else steps.set(meant.call.record.id, { call: meant.call, next: 'end', settlement: meant.settlement });
    }
    const order = [...open.ids()];
    const placeOf = ({ call }: Step) => order.indexOf(call.record.id);
    return { steps: [...steps.values()].sort((a, b) => placeOf(a) - placeOf(b)), refused };
  }

  /** Those who watch hear what was decided, and by whom. */
  private tellDecided(
    { approved, reason }: Decision,
    { id: toolCallId, messageId }: CallRecord,
    by: string,
  ): void {
    this.parts.messages.inject({
      type: 'data-decided',
      data: { toolCallId, messageId, approved, ...(reason === undefined ? {} : { reason }), by },
      transient: true,
    });
  }

  /** A decision is refused because of another, that the store has and this process did not hear of: that one counts. */
  private learn(verdict: Verdict, { user: by }: Identity): Step | null {
    const decided = verdict.kind === 'refused' ? verdict.decided : undefined;
    const { open } = this.parts;
    const call = decided && open.get(decided.id);
    return decided && call && open.isAsked(call) ? this.decidedBefore(call, { call: decided, by }) : null;
  }

  /** A card was decided before, where its session was then. Returns what that allows. */
  decidedBefore(call: OpenCall, { call: decided, by }: DecidedBefore): Step | null {
    const { open, messages } = this.parts;
    const approved = decisionIn(decided);
    if (approved === null) {
      // It was used or ended there.
      open.move(call, 'settle');
      return null;
    }
    // Nobody may have seen it here.
    open.move(call, 'show');
    const decision = { approved, reason: decided.reason ?? undefined };
    this.tellDecided(decision, decided, by);
    const step = this.applyDecision(decision, { kind: 'counts', call: decided, isRepeated: false }, null);
    const writing = messages.get(decided.messageId);
    if (writing) messages.save(writing);
    return step;
  }

  /** What one decision allows, if it counts. */
  private applyDecision({ approved, reason }: Decision, verdict: Verdict, by: Identity | null): Step | null {
    const { core, open } = this.parts;
    const call =
      verdict.kind === 'counts' || verdict.kind === 'ended' ? open.get(verdict.call.id) : undefined;
    if (!call) return null;
    if (verdict.kind === 'ended') {
      open.move(call, 'deny');
      return { call, next: 'end', settlement: SIGNED_OUT_END };
    }
    if (verdict.kind !== 'counts') return null;
    const { messageId, runsOn, id: callId } = call.record;
    core.emit({ type: 'mark-card', messageId, callId, approved, reason });
    if (!approved) {
      open.move(call, 'deny');
      const settlement: Settlement = { kind: 'denied', reason: verdict.call.reason };
      return { call, next: 'end', settlement };
    }
    open.move(call, 'approve');
    call.by = by;
    return { call, next: runsOn === 'server' ? 'run' : 'hand-over' };
  }

  /** In the confirmation dialect the output of the confirmation is the decision. */
  asDecision(answer: Answer): Answer {
    const { core, open } = this.parts;
    if (answer.kind !== 'output' || core.options.confirmations !== 'tool') return answer;
    const call = open.records.find(({ approvalId }) => approvalId === answer.toolCallId);
    const confirmed = isRecord(answer.output) ? answer.output.confirmed : undefined;
    if (!call || typeof confirmed !== 'boolean') return answer;
    return { kind: 'decision', toolCallId: call.id, approvalId: answer.toolCallId, approved: confirmed };
  }

  /** What an output of the browser means for its call: how it ends, a word why it does not count, or nothing. */
  private outputFor(
    answer: Exclude<Answer, { kind: 'decision' }>,
  ): { call: OpenCall; settlement: Settlement } | { refused: string } | null {
    const { open } = this.parts;
    const call = open.get(answer.toolCallId);
    // Only what runs in the browser may be answered by it; a claimed output of a server tool is not even looked at.
    if (!call || !open.isAnswerable(call)) return null;
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
