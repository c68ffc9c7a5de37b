import type { Content } from '@google/genai';
import { noticeOf } from '../../../../models/for-server.ts';
import { stateConflict } from '../../../../protocol/index.ts';
import { type CallOutcome, responseOf } from '../../../ledger/approvals.ts';
import type { CallRecord } from '../../../store/store.ts';
import type { AgentRun } from '../agent-run.ts';
import { type Context, outcomeWrites, type PendingAcknowledgement, storedInAnyCase } from '../context.ts';
import type { Effect, LateCall } from '../effects.ts';
import { modelErrorText } from '../errors.ts';
import type { Draft, Messages } from '../messages.ts';
import type { OpenCall, OpenCalls } from '../open-calls.ts';
import type { ApprovalRequests } from './approval-requests.ts';
import type { CallChunks } from './call-chunks.ts';

/** The error text of a call whose output cannot be stored. The model and the user get the same text. */
const NOT_STORED = 'The tool ran, but its result could not be stored.';

/**
 * Ends calls: the outcome is first stored in the history, then sent to clients and to the model. If it cannot be stored, clients and the model get an outcome
 * all the same; an output is then replaced by an error.
 */
export class Outcomes {
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;
  private readonly run: AgentRun;
  private readonly chunks: CallChunks;
  private readonly requests: ApprovalRequests;

  constructor(
    context: Context,
    open: OpenCalls,
    messages: Messages,
    run: AgentRun,
    chunks: CallChunks,
    requests: ApprovalRequests,
  ) {
    this.context = context;
    this.open = open;
    this.messages = messages;
    this.run = run;
    this.chunks = chunks;
    this.requests = requests;
  }

  /** Ends a call. `isOffline`: no model will get the outcome. `acknowledges`: the request whose acceptance is stored with the outcome. */
  end(
    call: OpenCall,
    outcome: CallOutcome,
    how: { isOffline?: boolean; acknowledges?: PendingAcknowledgement | undefined } = {},
  ): void {
    const { context, open, messages, run, chunks } = this;
    const { hasResponse, pauseEndsRun } = context.policy;
    const { isOffline = false, acknowledges = call.acknowledges } = how;
    if (call.discard()) return;
    const isInterrupted = outcome.kind === 'error' && outcome.interrupted === true;
    const isCancelled = run.hasCancelled(call.record.id);
    const isInside = call.within !== null;
    const isHeard =
      !isInterrupted && !isOffline && !isCancelled && !isInside && !context.isAbandoned && !hasResponse;
    if (isHeard && !pauseEndsRun && !run.isOpen) {
      // The outcome waits for a live run. If it were stored before ADK has read the session, the model would get it twice: in the history and as a
      // response.
      if (call.endLater(outcome, acknowledges)) run.openLive();
      // The outcome of an earlier answer already waits for the run, so this second answer changes nothing, and its request is acknowledged at once.
      else if (how.acknowledges) context.settleRequestAlone(how.acknowledges);
      return;
    }
    const { record } = call;
    const owner = messages.get(record.messageId);
    if (!owner) return;
    // An HTTP response streams another message. So the message of this call is changed only in the store, and clients get the outcome outside of the
    // response.
    if (hasResponse && owner !== messages.active)
      return this.publishSettled(this.endQuietly(call, outcome, acknowledges));
    if (!open.settle(call)) return;
    messages.turnTo(owner);
    const replyTo = pauseEndsRun || isInside ? null : run.expectResponse(record.id, outcome);
    if (pauseEndsRun && isHeard) this.addNotice(record, outcome);
    const report = (shown: CallOutcome, isStored = true): Effect[] => {
      const mark = context.mark();
      if (acknowledges) context.settleRequest(acknowledges, isStored);
      for (const chunk of chunks.forOutcome(call, shown)) messages.say(owner, chunk);
      messages.save(owner);
      if (replyTo !== null)
        context.emit({ type: 'send', n: replyTo, content: responseContent(record, shown) });
      return context.takeSince(mark);
    };
    const writes = outcomeWrites(record, outcome, acknowledges?.accepted);
    if (outcome.kind === 'output') {
      // A file is stored when the tool saves it, so it exists also when the outcome cannot be stored, and is shown after the error.
      const { files = [] } = outcome;
      const instead = (errorText: string) => {
        const failure: CallOutcome = { kind: 'error', errorText, ...(files.length > 0 ? { files } : {}) };
        const again = outcomeWrites(record, failure, acknowledges?.accepted);
        return [storedInAnyCase(again, report(failure), report(failure, false))];
      };
      context.emit({
        type: 'store',
        writes,
        after: report(outcome),
        failed: instead(NOT_STORED),
        conflicted: instead(stateConflict(record.toolName)),
        purpose: null,
      });
    } else context.emit(storedInAnyCase(writes, report(outcome), report(outcome, false)));
    this.releaseLock(call);
    this.continue(owner, record, isHeard);
    if (isCancelled) this.finishCancelled(owner);
  }

  /**
   * Records how an agent that is driven turn by turn gets the outcome of a call. Usually it reads the response in the history. If it has written to
   * another message since, it also gets a text.
   */
  private addNotice({ messageId, toolName, args }: CallRecord, outcome: CallOutcome): void {
    const isLate = this.messages.lastActive !== messageId;
    this.run.addNotice(messageId, isLate ? noticeOf(toolName, args, responseOf(outcome)) : null);
  }

  /** Lets the agent continue the message of a settled call. If the session is abandoned, ends the message instead, as soon as none of its calls is open. */
  private continue(owner: Draft, record: CallRecord, isHeard: boolean): void {
    const { context, open, messages } = this;
    if (context.isAbandoned) {
      if (!open.hasIn(owner.id)) messages.finish(owner, { interrupted: true });
      return;
    }
    if (record.agents?.within) this.requests.setDue();
    // An HTTP response continues this invocation, too: it opens its run when every step is performed.
    if (!record.agents?.within) owner.setInvocation(record.invocationId);
    if (!isHeard) return;
    const isComplete = !open.in(owner.id).some((other) => other.record.invocationId === record.invocationId);
    messages.expect(owner, isComplete);
    this.requests.setDue();
  }

  /**
   * Finishes the message of a call that the model cancelled, unless the agent is writing it: the model gets no response to the call, so it would not
   * continue the message.
   */
  private finishCancelled(owner: Draft): void {
    const { messages, open } = this;
    const isWritten = owner === messages.active && messages.isWorking;
    if (owner.isStarted && !isWritten && !open.hasIn(owner.id)) messages.finish(owner);
  }

  /**
   * Ends the calls whose outcome waited for a live run: the run is open now, or an HTTP response reports the outcome (`isOnline`), or no run will
   * open.
   */
  endPending(isOnline: boolean): void {
    const { open, messages } = this;
    for (const call of open.inState('ending')) {
      if (call.outcome) this.end(call, call.outcome, { isOffline: !isOnline });
      const owner = messages.get(call.record.messageId);
      if (isOnline || !owner) continue;
      owner.fail(modelErrorText('UNKNOWN_ERROR', ''));
      messages.finish(owner);
    }
  }

  /** Ends a call whose message is not being streamed. Returns the chunks that report the outcome, for the caller to send. */
  endQuietly(call: OpenCall, outcome: CallOutcome, acknowledges = call.acknowledges): LateCall {
    const { context, open, chunks, messages } = this;
    const { record } = call;
    const { messageId } = record;
    const reported = chunks.forOutcome(call, outcome);
    open.settle(call);
    // A response may continue the message. The last outcome of the history may then be that of another invocation.
    if (call.within === null) messages.get(messageId)?.setInvocation(record.invocationId);
    const amend = (isStored: boolean): Effect[] => {
      const mark = context.mark();
      if (acknowledges) context.settleRequest(acknowledges, isStored);
      // A call that was never announced has no chunks, because no message shows it.
      if (reported.length > 0) context.emit({ type: 'amend', messageId, chunks: reported });
      return context.takeSince(mark);
    };
    context.storeInAnyCase(outcomeWrites(record, outcome, acknowledges?.accepted), amend(true), amend(false));
    this.releaseLock(call);
    return { messageId, chunks: reported };
  }

  /** Ends a call that clients do not have, because it was never announced. */
  endUnannounced(call: OpenCall, outcome: CallOutcome): void {
    const { context } = this;
    const { record } = call;
    this.open.settle(call);
    this.messages.endLeftover(this.messages.get(record.messageId));
    const mark = context.mark();
    if (call.within === null) this.run.sendResponse(record, responseOf(outcome));
    context.storeInAnyCase(outcomeWrites(record, outcome), context.takeSince(mark));
  }

  /**
   * Sends clients the error of a call whose message is not being streamed, as `data-settled`. An output or a denial chunk is not sent: clients get it with
   * the stored message.
   */
  publishSettled({ messageId, chunks }: LateCall): void {
    for (const chunk of chunks) {
      if (chunk.type !== 'tool-output-error') continue;
      const { toolCallId, errorText } = chunk;
      this.messages.inject({
        type: 'data-settled',
        data: { toolCallId, messageId, errorText },
        transient: true,
      });
    }
  }

  /**
   * Releases the tool lock of a call whose tool has ended. The effect follows the write of the outcome, so that the next tool sees the state changes
   * of this tool.
   */
  releaseLock(call: OpenCall): void {
    if (call.releaseLock()) this.context.emit({ type: 'release-lock', callId: call.record.id });
  }
}

/** The content that passes the outcome of a call to a live model. */
function responseContent({ id, toolName: name }: CallRecord, outcome: CallOutcome): Content {
  return { role: 'user', parts: [{ functionResponse: { id, name, response: responseOf(outcome) } }] };
}
