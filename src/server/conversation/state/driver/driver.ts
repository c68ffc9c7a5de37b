import { type DeferredCall, RESUME } from '../../../../adk/for-server.ts';
import { type Chunk, INTERRUPTED } from '../../../../protocol/index.ts';
import { INTERRUPTION } from '../../../ledger/approvals.ts';
import type { AgentRun, EndedRun } from '../agent-run.ts';
import type { Calls } from '../calls/calls.ts';
import type { Step } from '../calls/decisions.ts';
import type { Context } from '../context.ts';
import type { Ticket, Write } from '../effects.ts';
import { type Failure, NOT_COMPLETED, reportFailure, SERVER_FAULT } from '../errors.ts';
import type { Draft, Messages } from '../messages.ts';
import type { OpenCalls } from '../open-calls.ts';
import type { Speech } from '../speech.ts';
import { AgentEvents } from './agent-events.ts';

/**
 * One HTTP response, from its `start` to its `finish`. `answering`: the steps that the answers allow are performed one after the other. `working`:
 * the agent works. `ending`: the history of the message is being completed, and then the response finishes.
 */
interface HttpResponse {
  draft: Draft;
  stage: { is: 'answering'; steps: Step[] } | { is: 'working' } | { is: 'ending' };
  isStopped: boolean;
}

/**
 * Drives the agent. A live agent has one run, which gets input while it is open. An agent that is driven turn by turn, over SSE or BIDI, gets a run
 * for each answer: the run ends at a call that waits, and another run continues the message when the call is answered.
 */
export class Driver {
  readonly events: AgentEvents;
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;
  private readonly run: AgentRun;
  private readonly speech: Speech;
  private readonly calls: Calls;
  /** The HTTP response that is being streamed; at most one. */
  private response: HttpResponse | null = null;
  /** Over a socket: the draft whose run is over, while responses for its unanswered calls are being added to the history. */
  private concluding: Draft | null = null;
  /** The text of an interrupted run, which ADK does not store. */
  private cutText: { messageId: string; text: string } | null = null;

  constructor(
    context: Context,
    open: OpenCalls,
    messages: Messages,
    run: AgentRun,
    speech: Speech,
    calls: Calls,
  ) {
    this.context = context;
    this.open = open;
    this.messages = messages;
    this.run = run;
    this.speech = speech;
    this.calls = calls;
    this.events = new AgentEvents(context, open, messages, run, speech, calls);
  }

  /** The draft of the HTTP response that is being streamed. */
  get responding(): Draft | null {
    return this.response?.draft ?? null;
  }

  /** Starts an HTTP response: the agent answers a message. */
  startResponse(draft: Draft): void {
    this.beginResponse();
    this.response = { draft, stage: { is: 'working' }, isStopped: false };
  }

  /** Starts an HTTP response that first performs the steps which the answers allow, and in which the agent then continues. */
  startAnswering(draft: Draft, steps: Step[]): void {
    this.beginResponse();
    this.response = { draft, stage: { is: 'answering', steps }, isStopped: false };
  }

  private beginResponse(): void {
    this.context.startResponse();
    this.run.release();
  }

  /** Performs the next step of the HTTP response, or opens the next run, if it can start now. Returns whether a step or a run was started. */
  continue(): boolean {
    return this.response ? this.continueResponse(this.response) : this.continueTurn();
  }

  private continueResponse(response: HttpResponse): boolean {
    const { open, messages, calls } = this;
    if (response.stage.is !== 'answering' || open.areAtWork) return false;
    const [step, ...steps] = response.stage.steps;
    if (response.isStopped) this.concludeResponse(response);
    else if (step) {
      response.stage = { is: 'answering', steps };
      calls.perform(step);
    } else {
      calls.requests.showNext();
      // Calls of other messages may still be open, from the time before the page changed from a socket to SSE. A workflow continues without them,
      // because they belong to other invocations.
      const { isWorkflow } = this.context.options;
      if (isWorkflow ? open.hasIn(response.draft.id) : open.size > 0) {
        messages.finish(response.draft);
        this.endResponse();
      } else {
        response.stage = { is: 'working' };
        if (calls.chunks.usesConfirmations) messages.say(response.draft, { type: 'start-step' });
        this.run.openTurn({ role: 'user', parts: [{ text: '' }] }, RESUME, response.draft.invocation);
      }
    }
    return true;
  }

  /** Over a socket: if there is no run, opens one that continues the active draft, or the next expected draft, whose calls are answered. */
  private continueTurn(): boolean {
    const { context, messages, run } = this;
    if (!context.policy.pauseEndsRun || context.isAbandoned || this.concluding) return false;
    if (!run.isNone || run.isHeld) return false;
    if (!messages.isWorking && !messages.activateNext()) return false;
    const { active } = messages;
    if (!active) return false;
    const notices = run.takeNotices(active.id);
    const parts = notices.length === 0 ? [{ text: '' }] : notices.map((text) => ({ text }));
    run.openTurn({ role: 'user', parts }, RESUME, active.invocation);
    return true;
  }

  /** Interrupts the HTTP response that is being streamed. A second interruption has no effect. Returns false when there is no response. */
  stopResponse(): boolean {
    const { response } = this;
    if (!response || response.isStopped) return response !== null;
    response.isStopped = true;
    this.context.emit({ type: 'abort-tools' });
    // End calls whose record is being written now, so that they are not shown when they are stored.
    for (const call of this.open.inState('issuing')) this.calls.outcomes.end(call, INTERRUPTION);
    if (response.stage.is === 'working') this.run.close();
    else if (response.stage.is === 'answering') this.concludeResponse(response);
    else this.endCalls();
    return true;
  }

  private endCalls(): void {
    for (const call of this.open.all)
      this.calls.outcomes.end(call, { kind: 'error', errorText: INTERRUPTED });
  }

  /**
   * Handles the end of the HTTP response, or the rejection of its request. If a client listens, the calls that the response left open continue. A live
   * run opens for outcomes that wait for one.
   */
  endResponse(): void {
    const { context, messages, open, run } = this;
    const { active } = messages;
    this.response = null;
    context.endResponse();
    run.release();
    // The calls of the active message have timed out for a request that is rejected now, so the agent does not continue the message.
    if (active && !messages.isWorking && !open.hasIn(active.id)) messages.deactivate();
    messages.endLeftovers();
    if (open.inState('ending').length > 0) run.openLive();
    if (context.hasListener) this.calls.takeUp();
  }

  /** Over a socket: interrupts the turn of the agent. Calls that ADK's own loop runs get an error, and the rest of the run is ignored. */
  stopTurn(): void {
    const { context, messages, run, open } = this;
    const { active } = messages;
    run.clearNotices();
    run.clearCalls();
    if (!active || !messages.isWorking) return;
    const { id: messageId } = active;
    const text = run.isOpen ? active.unfinishedText : '';
    if (text) this.cutText = { messageId, text };
    const running = run.takeAllAnnounced();
    if (running.length > 0) {
      messages.closeBlocksOf(active);
      const mark = context.mark();
      for (const toolCallId of running)
        messages.say(active, { type: 'tool-output-error', toolCallId, errorText: INTERRUPTED });
      const after = context.takeSince(mark);
      context.storeInAnyCase([closeDangling(INTERRUPTED, messageId, open.ids())], after);
    }
    run.close();
  }

  /**
   * Handles the end of a run of an agent that is driven turn by turn. Each call without a response gets an error in the history, and then `concluded`
   * ends or pauses the message. But while a call of an HTTP response is still at work, the response continues. Returns true when no message was being
   * written, because the turn was interrupted.
   */
  turnEnded(error: Failure | null, wasClosed: boolean): boolean {
    const { context, messages, open, response } = this;
    const isWorking = !wasClosed && messages.isWorking;
    const draft = response ? response.draft : isWorking ? messages.active : null;
    if (!draft) {
      const { cutText } = this;
      this.cutText = null;
      const dangling = closeDangling(INTERRUPTED, null, open.ids());
      context.store([...storeText(cutText), dangling], null);
      return true;
    }
    // The response continues while a call is still at work: an agent that is used as a tool runs outside ADK's loop.
    if (response && error === null && !response.isStopped && open.areAtWork) {
      messages.closeBlocksOf(draft);
      response.stage = { is: 'answering', steps: [] };
      return false;
    }
    if (error !== null) this.events.failed(draft, error);
    const waits = response ? open.size > 0 || response.isStopped : open.hasIn(draft.id);
    if (!draft.hasContent && !waits && draft.failure === null)
      this.events.failed(draft, { code: 'EMPTY_RESPONSE', message: '' });
    if (response) this.concludeResponse(response);
    else {
      this.concluding = draft;
      this.conclude(draft, false);
    }
    return false;
  }

  private concludeResponse(response: HttpResponse): void {
    const { stage, draft, isStopped } = response;
    if (stage.is === 'ending') return;
    // The remaining steps are not performed, but a request that such a step would acknowledge is acknowledged here.
    for (const step of stage.is === 'answering' ? stage.steps : [])
      if ('acknowledges' in step && step.acknowledges) this.context.settleRequestAlone(step.acknowledges);
    response.stage = { is: 'ending' };
    this.messages.closeBlocksOf(draft);
    if (isStopped) this.endCalls();
    this.conclude(draft, isStopped);
  }

  /**
   * Completes the history of a message: stores an error for each call that has no response, except for calls that wait. `concluded` continues after
   * that.
   */
  private conclude(draft: Draft, isStopped: boolean): void {
    const { id: messageId, failure } = draft;
    this.messages.closeBlocksOf(draft);
    const text = isStopped || failure !== null ? draft.unfinishedText : '';
    const errorText = isStopped ? INTERRUPTED : NOT_COMPLETED;
    const dangling = closeDangling(errorText, messageId, this.open.ids());
    this.context.store([...storeText({ messageId, text }), dangling], { for: 'conclusion', messageId });
  }

  /**
   * Finishes or pauses a message whose history is complete, unless the next run continues the message at once. `missed`: the chunks with outcomes that
   * the message does not show yet.
   */
  concluded(messageId: string, missed: readonly Chunk[] = []): void {
    const draft = this.takeConcluded(messageId);
    if (!draft) return;
    this.run.takeAllAnnounced();
    this.complete(draft, missed);
  }

  /** Handles a history that could not be completed: the message fails, and each call of ADK's own loop that clients see as open gets an error. */
  notConcluded(messageId: string): void {
    const draft = this.takeConcluded(messageId);
    if (!draft) return;
    draft.fail(SERVER_FAULT);
    const missed = this.run
      .takeAllAnnounced()
      .map((toolCallId) => ({ type: 'tool-output-error' as const, toolCallId, errorText: NOT_COMPLETED }));
    this.complete(draft, missed);
  }

  /**
   * Returns the draft whose history write has ended. Null when its turn over the socket was interrupted meanwhile; an HTTP response for another
   * message may have started by then.
   */
  private takeConcluded(messageId: string): Draft | null {
    const { messages, response, concluding } = this;
    if (concluding?.id !== messageId) return response?.draft.id === messageId ? response.draft : null;
    this.concluding = null;
    return concluding === messages.active && messages.isWorking ? concluding : null;
  }

  private complete(draft: Draft, missed: readonly Chunk[]): void {
    const { messages, response, open, run } = this;
    for (const chunk of missed) messages.say(draft, chunk);
    if (response?.draft === draft) {
      messages.finish(draft, { interrupted: response.isStopped });
      return this.endResponse();
    }
    if (draft.failure === null && open.hasIn(draft.id)) messages.pause(draft);
    else if (draft.failure !== null || !run.owesNotice(draft.id)) messages.finish(draft);
  }

  /**
   * Handles the end of a live run: reports `error`, if there is one, and ends the messages that the run was writing. Returns the error text for a
   * user message that waited for this run.
   */
  liveRunEnded(ended: EndedRun, error: Failure | null): string {
    const { context, speech } = this;
    const {
      log,
      error: reported,
      code,
      text,
    } = reportFailure(error ?? { code: 'UNKNOWN_ERROR', message: '' });
    if (error) context.emit(log);
    const isReported = ended.wasSilent && speech.reportSilentRun(ended, error ? reported : null);
    if (error && !isReported) for (const effect of code) context.emit(effect);
    this.endDrafts(ended.wasClosed, text);
    return text;
  }

  /** Closes the run without waiting for its end, because the conversation closes. */
  abandonRun(): void {
    const { run } = this;
    if (run.isNone) return;
    if (run.isLive) run.abandon();
    else this.stopTurn();
    this.endDrafts(true, '');
  }

  /**
   * Ends the messages of a run that is over. The message that was being written fails with the text `failure`, or ends as interrupted if the run
   * `wasClosed`. Other messages with open calls pause.
   */
  private endDrafts(wasClosed: boolean, failure: string): void {
    const { context, messages, open } = this;
    const { active, isWorking } = messages;
    // The agent does not work on the active message, but the message has no open call: the model should have continued it and did not.
    const isUnfinished = active !== null && !open.hasIn(active.id);
    const drafts = messages.expected.filter((draft) => draft !== active || isWorking || isUnfinished);
    for (const draft of drafts) {
      if (context.isClosed && draft.isEmpty) {
        // An empty message is not stored, so that the next process can start the answer again.
        messages.forget(draft);
        continue;
      }
      const isActive = draft === active && isWorking;
      const hasFailed = isActive && !wasClosed;
      if (!hasFailed && open.hasIn(draft.id)) {
        // The message continues when its calls are answered, in this process or the next one.
        messages.pause(draft);
        continue;
      }
      if (hasFailed) draft.fail(failure);
      messages.finish(draft, { interrupted: isActive && wasClosed });
    }
    messages.reset();
  }

  /** Handles a call that ADK deferred. ADK waits until a `release-call` effect carries `ticket`. */
  deferred(n: number, call: DeferredCall, ticket: Ticket): void {
    const { context, messages, open, run, calls } = this;
    const within = call.agents?.within;
    if (within) {
      const outer = open.running(within);
      const draft = outer && messages.get(outer.record.messageId);
      if (draft) calls.issue(call, draft, ticket, n);
      else context.emit({ type: 'release-call', ticket, error: INTERRUPTED });
      return;
    }
    const draft = run.takeCall(call.id)?.draft ?? messages.active;
    if (!run.isOpenAs(n))
      return context.emit({ type: 'release-call', ticket, error: 'The run of the agent has ended.' });
    // The message of the call may have ended meanwhile.
    const isWanted = draft && messages.get(draft.id) && !run.isMuted;
    if (isWanted) calls.issue(call, draft, ticket, n);
    else calls.decline(call, ticket);
  }
}

function storeText(unstored: { messageId: string; text: string } | null): Write[] {
  return unstored?.text ? [{ do: 'store-text', ...unstored }] : [];
}

function closeDangling(errorText: string, messageId: string | null, waiting: ReadonlySet<string>): Write {
  return { do: 'close-dangling', errorText, messageId, waiting };
}
