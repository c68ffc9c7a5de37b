import type { ToolFacts } from '../../../../protocol/index.ts';
import type { AgentRun } from '../agent-run.ts';
import type { Context } from '../context.ts';
import type { Purpose, Write } from '../effects.ts';
import type { Draft, Messages } from '../messages.ts';
import type { OpenCall, OpenCalls } from '../open-calls.ts';
import type { CallChunks } from './call-chunks.ts';

type ApprovalRequestPurpose = Extract<Purpose, { for: 'approval-request' }>;

/**
 * Shows approval requests to clients, one at a time or all together as the policy says. A question does not wait for other questions and requests. An AI SDK
 * client ends its response at an approval request, and then sends all answers of the step in one request. So over a socket the browser calls of a step that
 * need no approval are held, and announced together with its first approval request.
 */
export class ApprovalRequests {
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;
  private readonly run: AgentRun;
  private readonly chunks: CallChunks;
  /** Browser calls that need no approval and are not announced yet. */
  private held: OpenCall[] = [];
  /** Whether approval requests and questions wait until the browser calls of their step are stored. */
  private isWaiting = false;
  /** Whether a call has ended, so that the next approval request may be shown. */
  private isDue = false;

  constructor(context: Context, open: OpenCalls, messages: Messages, run: AgentRun, chunks: CallChunks) {
    this.context = context;
    this.open = open;
    this.messages = messages;
    this.run = run;
    this.chunks = chunks;
  }

  /** Holds a browser call that needs no approval, to announce it together with the first approval request of its step. */
  hold(call: OpenCall): void {
    this.held.push(call);
  }

  /** Records that a call has ended, so that `showDue` shows the next approval request after the current input. */
  setDue(): void {
    this.isDue = true;
  }

  /** Shows the next approval request, if a call has ended since the last time. */
  showDue(): void {
    if (!this.isDue) return;
    this.isDue = false;
    this.showNext();
  }

  /** Shows the approval requests and browser calls that wait for other calls of their step, unless they must still wait. */
  showHeld(): void {
    if (this.isWaiting || this.held.length > 0) this.showNext();
  }

  /**
   * Shows what may be shown now: every question, and the next approval request, or all approval requests if the policy shows them together. An HTTP response
   * shows only those of its own message.
   */
  showNext(): void {
    const { context, open, messages, chunks } = this;
    const { approvalsTogether, hasResponse } = context.policy;
    const queued = open.inState('queued');
    // Over a socket, approval requests and questions wait until the browser calls of their step are stored. An HTTP response ends with the run, and by then
    // every call of the step is stored.
    this.isWaiting = !hasResponse && queued.length > 0 && this.isExpecting(isBrowserCall);
    if (this.isWaiting) return;
    for (const call of queued) {
      // A question is shown even while an approval request is open.
      if (!approvalsTogether && open.isShowing && !call.asksForAnswer) continue;
      const draft = messages.get(call.record.messageId);
      // An HTTP response shows nothing of other messages than the one that it streams.
      if (!draft || (hasResponse && draft !== messages.active)) continue;
      call.apply('show');
      const expiresAt = this.deadlineOf(call);
      // The call is stored already, so a write is needed only if its stored deadline differs.
      const isKnown = call.record.expiresAt === expiresAt;
      call.setDeadline(expiresAt);
      messages.closeBlocksOf(draft);
      const beside = this.takeHeld(draft);
      const purpose: Purpose = {
        for: 'approval-request',
        callId: call.record.id,
        isAnnounced: call.isAnnounced,
        beside: beside.map(({ record }) => record.id),
      };
      const writes: Write[] = isKnown ? [] : [{ do: 'show', call: call.record }];
      const mark = context.mark();
      // A client ends the response when it has answered every call that it got. If it got the browser calls first, it could answer them and end the
      // response before it gets the call that needs approval. So announce that call first.
      if (beside.length > 0 && !chunks.usesConfirmations) chunks.announce(call, draft);
      for (const one of beside) chunks.announce(one, draft);
      chunks.ask(call, draft, approvalsTogether ? 0 : this.countQueued(draft));
      context.store(writes, purpose, context.takeSince(mark));
    }
    if (open.isShowing || !this.isExpecting(({ asks }) => asks)) this.announceHeld();
  }

  /**
   * Handles an approval request that could not be stored, so that clients did not get it. Returns its call, which must end; undefined when the call has ended
   * already.
   */
  notShown({ callId, isAnnounced, beside }: ApprovalRequestPurpose): OpenCall | undefined {
    const { open } = this;
    // The chunks after the failed write were not sent. So the browser calls that were announced with the request must be announced again.
    for (const id of beside) {
      const one = open.get(id);
      if (!one) continue;
      one.setAnnounced(false);
      this.held.push(one);
    }
    const call = open.get(callId);
    call?.setAnnounced(isAnnounced);
    call?.setConfirming(false);
    return call;
  }

  /**
   * The deadline of an approval request, a question or a sign-in that is shown now. The tool may define the time limit, except for a sign-in;
   * otherwise the limit of the server's options applies.
   */
  private deadlineOf({ approvalTimeoutMs, asksForAnswer, record }: OpenCall): number | null {
    const { now, policy, options } = this.context;
    if (record.question?.kind === 'sign-in')
      return options.signInTimeoutMs === null ? null : now + options.signInTimeoutMs;
    const byServer = asksForAnswer ? options.questionTimeoutMs : policy.approvalTimeoutMs;
    const timeoutMs = approvalTimeoutMs === undefined ? byServer : approvalTimeoutMs;
    return timeoutMs === null ? null : now + timeoutMs;
  }

  /** How many more approval requests will follow in this message, as far as is known now. */
  private countQueued({ id }: Draft): number {
    const isQueued = ({ record }: OpenCall) => record.approvalId !== null && record.messageId === id;
    const known = this.open.inState('queued', 'issuing').filter(isQueued).length;
    return known + this.run.madeFacts.filter(({ asks }) => asks).length;
  }

  /** Whether the agent made a call that `isSuch` accepts and that is neither stored nor announced yet. */
  private isExpecting(isSuch: (facts: ToolFacts) => boolean): boolean {
    const isToCome = ({ isAnnounced, record: { runsOn, approvalId } }: OpenCall) =>
      !isAnnounced && isSuch({ runsOn, asks: approvalId !== null });
    return this.run.madeFacts.some(isSuch) || this.open.inState('issuing').some(isToCome);
  }

  private takeHeld(draft: Draft): OpenCall[] {
    const isOf = ({ record }: OpenCall) => record.messageId === draft.id;
    const taken = this.held.filter((call) => isOf(call) && this.open.get(call.record.id) === call);
    this.held = this.held.filter((call) => !isOf(call));
    return taken;
  }

  /** Announces the held browser calls when no approval request of their step will be shown with them. */
  private announceHeld(): void {
    const { messages, chunks } = this;
    for (const { record } of this.held) {
      const draft = messages.get(record.messageId);
      const taken = draft ? this.takeHeld(draft) : [];
      // A held call that was interrupted meanwhile is not announced, and its message may have ended.
      if (!draft || taken.length === 0) continue;
      messages.closeBlocksOf(draft);
      for (const call of taken) chunks.announce(call, draft);
      messages.save(draft);
    }
    this.held = [];
  }
}

/** Whether a call runs in the browser and needs no approval. */
function isBrowserCall({ runsOn, asks }: ToolFacts): boolean {
  return runsOn === 'client' && !asks;
}
