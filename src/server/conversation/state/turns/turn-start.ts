import { toContent } from '../../../../adk/for-server.ts';
import { type Message, type ProtocolError, SUPERSEDED } from '../../../../protocol/index.ts';
import type { CallOutcome } from '../../../ledger/approvals.ts';
import type { AcceptedRequest } from '../../../store/store.ts';
import type { AgentRun } from '../agent-run.ts';
import type { Calls } from '../calls/calls.ts';
import { acceptedRequest, type Context, RETRY_MS } from '../context.ts';
import type { Driver } from '../driver/driver.ts';
import type { Purpose, RequestRef, Write } from '../effects.ts';
import { modelErrorText, NOT_COMPLETED, nothingToContinue } from '../errors.ts';
import type { MessageRequest, SpokenRequest, TurnRequest } from '../inputs.ts';
import type { Draft, Messages, UserMessages } from '../messages.ts';
import type { OpenCalls } from '../open-calls.ts';
import type { Answers } from './answers.ts';
import type { MessageQueue, Starting } from './next-turn.ts';

type MessagePurpose = Extract<Purpose, { for: 'message' }>;

/** The error text of a message that failed for an unknown reason. */
const UNKNOWN_FAILURE = modelErrorText('UNKNOWN_ERROR', '');

/** Starts the turns of requests, one at a time: stores a user message and gives it to the agent, reads answers, or shows a text of the application. */
export class TurnStart {
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;
  private readonly userMessages: UserMessages;
  private readonly run: AgentRun;
  private readonly calls: Calls;
  private readonly driver: Driver;
  private readonly queue: MessageQueue;
  private readonly starting: Starting;
  private readonly answers: Answers;

  constructor(
    context: Context,
    open: OpenCalls,
    messages: Messages,
    userMessages: UserMessages,
    run: AgentRun,
    calls: Calls,
    driver: Driver,
    queue: MessageQueue,
    starting: Starting,
    answers: Answers,
  ) {
    this.context = context;
    this.open = open;
    this.messages = messages;
    this.userMessages = userMessages;
    this.run = run;
    this.calls = calls;
    this.driver = driver;
    this.queue = queue;
    this.starting = starting;
    this.answers = answers;
  }

  /** Starts a request as far as possible now. `resume`, `runReady`, `found` or `stored` continues a request that must wait. */
  start(request: TurnRequest): void {
    const { context, run, messages, calls, starting } = this;
    const continues = request.kind === 'message' ? request.continues : undefined;
    if (request.kind === 'message' && continues?.message === null) {
      starting.set({ is: 'finding', request, isInterrupted: false });
      const purpose: Purpose = { for: 'continuation', request: request.request };
      return context.store([{ do: 'find-cut', messageId: continues.messageId }], purpose);
    }
    const { hasResponse, newMessage } = context.policyFor(request.wire);
    const isSpoken = request.kind === 'spoken';
    const rewinds = request.kind === 'message' && this.isKnown(request);
    // A stored message has no answer when its process died before the agent answered. The turn of the message starts again, which removes no message.
    const restarts = rewinds && this.userMessages.unanswered === request.id;
    const replaces = (newMessage === 'supersedes' && !isSpoken) || (rewinds && !restarts);
    starting.set({ is: 'waiting', request });
    if (hasResponse && !isSpoken) run.hold();
    // Close an open run first. A request over SSE needs a run of its own. And the model in the open run still has the messages that a rewind removes, or
    // lacks the text of the answer to continue, or the text of the application.
    if (run.isClosing || ((replaces || rewinds || continues || isSpoken) && !run.isNone)) return run.close();
    if (isSpoken) return this.speak(request);
    const late = hasResponse ? calls.expireQuietly() : [];
    if (late === null) return;
    // An unfinished turn that this message replaces ends before anything else starts.
    if (request.kind === 'message' && replaces) messages.finishStarted();
    messages.closeBlocks();
    if (hasResponse) context.emit({ type: 'mark-response', request: request.request });
    if (request.kind === 'answers') {
      starting.set({ is: 'reading', request, isInterrupted: false });
      return this.answers.readPosted(request, late);
    }
    for (const one of late) calls.outcomes.publishSettled(one);
    if (replaces) this.supersede();
    this.store(request, rewinds, replaces);
  }

  private isKnown({ id }: MessageRequest): boolean {
    return id !== undefined && this.userMessages.has(id);
  }

  /** Stores a user message and gives it to the agent. */
  private store(request: MessageRequest, rewinds: boolean, replaces: boolean): void {
    const { context, run, messages, userMessages, starting, open } = this;
    const { id = context.newMessageId(), parts, metadata, continues, isInstruction } = request;
    const isShown = !continues && !isInstruction;
    starting.set({ is: 'storing', request, id, isInterrupted: false });
    if (rewinds) userMessages.forgetFrom(id);
    if (rewinds && replaces) for (const draft of messages.all) messages.forget(draft);
    // Save unfinished drafts first, even empty ones. Clients got them before this user message, so the store must have them before it, too.
    for (const draft of messages.all) messages.save(draft);
    if (isShown) {
      userMessages.add(id, parts);
      userMessages.setUnanswered(id);
    }
    const accepted = this.acceptedWith(request);
    const restart = { errorText: NOT_COMPLETED, waiting: open.ids() };
    const writes: Write[] = [
      ...(rewinds ? [{ do: 'rewind' as const, messageId: id, ...(replaces ? {} : { restart }) }] : []),
      ...(isShown ? [{ do: 'store-message' as const, id, parts, metadata, accepted }] : []),
      ...(!isShown && accepted ? [{ do: 'accept' as const, accepted }] : []),
    ];
    const { pauseEndsRun, hasResponse } = context.policyFor(request.wire);
    if (pauseEndsRun) return this.startTurn(writes, request, id, hasResponse);
    if (run.isOpen) return this.sendToRun(writes, request, id, false);
    const mark = context.mark();
    this.take(writes, request, id);
    context.store(writes, this.purposeOf(request, id), context.takeSince(mark));
    run.openLive();
  }

  /** Tries again to start a request that is `waiting`. Returns whether it has started. */
  resume(): boolean {
    const { current } = this.starting;
    if (current?.is !== 'waiting') return false;
    this.start(current.request);
    return this.starting.current?.is !== 'waiting';
  }

  /**
   * Continues the request and the outcomes that waited for a run to open or end. If no run is open, the answer to a user message that waited
   * for a run fails with `failure`.
   */
  runReady(failure = UNKNOWN_FAILURE): void {
    const { run, messages } = this;
    const { current } = this.starting;
    // The HTTP response that is about to start reports these outcomes.
    if (!run.isHeld) this.calls.outcomes.endPending(run.isOpen);
    if (!current) return;
    if (current.is === 'waiting') return this.start(current.request);
    if (current.is !== 'stored') return;
    this.sendToRun([], current.request, current.id);
    // The run could not be opened, so the answer to the message ends with the failure.
    if (!run.isOpen && messages.active) this.fail(messages.active, failure);
  }

  private fail(draft: Draft, failure: string): void {
    draft.fail(failure);
    this.messages.finish(draft);
  }

  /**
   * Continues a request after the message to continue was looked up; `message` is null when that message is not the last one, or
   * was not cut off. Returns whether the user interrupted the request.
   */
  found(request: RequestRef, message: Message | null): boolean {
    const { current } = this.starting;
    if (current?.is !== 'finding' || !this.starting.isOf(request)) return false;
    if (!message || this.open.hasIn(message.id)) {
      this.notFound(request, nothingToContinue());
      return false;
    }
    const { id: messageId } = message;
    const { isInterrupted } = current;
    this.start({ ...current.request, answerId: messageId, continues: { messageId, message } });
    return isInterrupted;
  }

  /** Rejects a request whose message cannot be continued, or could not be read. */
  notFound(request: RequestRef, error: ProtocolError): void {
    if (this.starting.isOf(request)) this.starting.clear();
    this.context.reject(request, error);
  }

  /**
   * Called when the conversation closes. Removes and returns the request that is starting, for the caller to end it. Null when no request is starting, or
   * when its user message is stored or being stored, or its answers are being read.
   */
  giveUp(): TurnRequest | null {
    const { current } = this.starting;
    if (current?.is !== 'waiting' && current?.is !== 'finding') return null;
    this.starting.clear();
    return current.request;
  }

  /**
   * Handles an interruption by the user. If a stored message waits for a live run, its turn starts at once, so that the caller can interrupt the turn.
   * Returns false when no stored message waits.
   */
  interrupt(): boolean {
    const { current } = this.starting;
    this.starting.interrupt();
    if (current?.is !== 'stored') return false;
    this.sendToRun([], current.request, current.id);
    return true;
  }

  /** Continues after a user message was stored: the agent gets it when a live run is open. Returns whether the user interrupted meanwhile. */
  stored(request: RequestRef): boolean {
    const { current } = this.starting;
    const { run, queue, starting } = this;
    queue.started(request);
    if (current?.is !== 'storing' || !this.starting.isOf(request)) return false;
    const { id, isInterrupted } = current;
    starting.set({ is: 'stored', request: current.request, id });
    if (isInterrupted) return true;
    if (run.isOpen) this.sendToRun([], current.request, id);
    else run.openLive();
    return false;
  }

  /**
   * Handles a failed write of a user message: the message returns to the queue, or its request is rejected. If the message
   * was stored and acknowledged before, and only the history could not be written, the answer to the message fails.
   */
  notStored(
    { request, userMessageId, messageId, run: n, isStored }: MessagePurpose,
    error: ProtocolError,
  ): void {
    const { messages, run, driver, starting } = this;
    // If the client sends the message again, the message must not be ignored as a copy.
    this.userMessages.forget(userMessageId);
    const draft = messageId === null ? undefined : messages.get(messageId);
    if (isStored && draft) {
      // The `start` of the answer was discarded with the effects after this write. Send it now, so that there is a message that can fail.
      messages.resume(draft);
      return this.fail(draft, UNKNOWN_FAILURE);
    }
    if (draft) messages.forget(draft);
    // The model may have got the outcome of a call while the write failed. Then it continues the message of that call.
    if (draft && !messages.active) messages.activateNext();
    const hadRun = run.neverOpened(n);
    if (starting.isOf(request)) starting.clear();
    if (!this.putBack(request)) this.context.reject(request, error);
    if (draft && driver.responding === draft) return driver.endResponse();
    if (hadRun) this.runReady();
  }

  /** Puts a stored message that could not start back into the queue, and delays the queue. Returns false when the message was not stored before its start. */
  private putBack(request: RequestRef): boolean {
    const { context, queue } = this;
    const message = queue.takeStarting(request);
    if (!message) return false;
    // The conversation is closed here, and the next process starts the stored message.
    if (context.isClosed) context.takeRequest(request);
    else queue.putBack(message);
    queue.setRetryAt(context.now + RETRY_MS);
    return true;
  }

  /** Ends the open calls, because a new user message replaces them. Every call in the history gets a response. */
  private supersede(): void {
    const { open, calls, context, messages } = this;
    const superseded: CallOutcome = { kind: 'error', errorText: SUPERSEDED };
    for (const call of open.all)
      calls.outcomes.publishSettled(calls.outcomes.endQuietly(call, call.outcome ?? superseded));
    messages.endLeftovers();
    context.store(
      [{ do: 'close-dangling', errorText: SUPERSEDED, messageId: null, waiting: new Set() }],
      null,
    );
  }

  /**
   * Sends watchers the rewind (`data-rewind`) and the user message (`data-message`) that the writes contain. Sends nothing for a message whose turn
   * starts again, because watchers already have that message.
   */
  private publish(writes: readonly Write[], messageId: string): void {
    if (restartsIn(writes)) return;
    for (const write of writes) {
      if (write.do === 'rewind')
        this.messages.inject({ type: 'data-rewind', data: { messageId }, transient: true });
      if (write.do === 'store-message') this.context.emit({ type: 'publish-message', messageId });
    }
  }

  /** Emits the effects that follow the writes of a user message: clients get the message, and its request is acknowledged. */
  private take(writes: readonly Write[], request: MessageRequest, id: string): void {
    this.publish(writes, id);
    this.context.takeRequest(request.request);
    this.context.acknowledge(request.request, this.acceptedWith(request));
  }

  /**
   * The stored form of a request that is written with its message; undefined for a request without a name, and when the request was already stored with the
   * queued message.
   */
  private acceptedWith({
    request,
    answerId,
    isStored,
    continues,
  }: MessageRequest): AcceptedRequest | undefined {
    return isStored ? undefined : acceptedRequest(request, answerId, continues?.message?.parts.length);
  }

  private purposeOf(
    request: MessageRequest,
    userMessageId: string,
    more: Partial<MessagePurpose> = {},
  ): MessagePurpose {
    const { isStored = false, messageId = null, run = null } = more;
    if (!isStored) this.queue.starts(request);
    return { for: 'message', request: request.request, userMessageId, messageId, run, isStored };
  }

  /** Sends a user message to the live run. `isStored`: the message is already stored, and its request acknowledged. */
  private sendToRun(writes: Write[], request: MessageRequest, id: string, isStored = true): void {
    const { parts, continues } = request;
    const { context, messages, run, userMessages, starting } = this;
    const messageId = request.answerId ?? context.newMessageId();
    starting.clear();
    userMessages.setUnanswered(null);
    this.endUnanswered();
    const purpose = this.purposeOf(request, id, { messageId, isStored });
    const mark = context.mark();
    if (isStored) context.takeRequest(request.request);
    else this.take(writes, request, id);
    messages.begin(messageId, continues?.message, true, request);
    run.send(toContent(parts));
    // If the message cannot be added to the history, its request is rejected and the message is removed, while it is still the last one.
    const undo: Write[] =
      isStored || continues || request.isInstruction || restartsIn(writes)
        ? []
        : [{ do: 'remove-message', messageId: id }];
    const append: Write = { do: 'append-message', messageId: id, parts };
    context.store([...writes, append], purpose, context.takeSince(mark), undo);
  }

  /** Ends or pauses the active message before the next one starts: the agent may have started it unasked, or may have left it unfinished. */
  private endUnanswered(): void {
    const { messages, open } = this;
    const { active, isWorking } = messages;
    if (!active) return;
    if (!open.hasIn(active.id)) messages.finish(active, { interrupted: isWorking });
    // A message with open calls continues when they are answered, so it must not finish now.
    else if (isWorking) messages.pause(active);
  }

  /** Sends a text of the application as an assistant message. Open calls stay open, and the next run has the text in its history. */
  private speak({ request, text, answerId: messageId }: SpokenRequest): void {
    const { context, messages, starting } = this;
    starting.clear();
    this.endUnanswered();
    const accepted = acceptedRequest(request, messageId);
    const mark = context.mark();
    context.takeRequest(request);
    context.acknowledge(request, accepted);
    const draft = messages.begin(messageId, null, false);
    messages.say(draft, { type: 'text-start', id: '0' });
    messages.say(draft, { type: 'text-delta', id: '0', delta: text });
    messages.say(draft, { type: 'text-end', id: '0' });
    messages.finish(draft);
    const writes: Write[] = [
      { do: 'store-text', messageId, text, isSpoken: true },
      ...(accepted ? [{ do: 'accept' as const, accepted }] : []),
    ];
    context.store(writes, { for: 'spoken', request }, context.takeSince(mark));
  }

  /** Opens a run for an agent that is driven turn by turn. The agent answers the user message in it. */
  private startTurn(writes: Write[], request: MessageRequest, id: string, hasResponse: boolean): void {
    const { context, messages, run, driver, userMessages, starting } = this;
    const messageId = request.answerId ?? context.newMessageId();
    starting.clear();
    userMessages.setUnanswered(null);
    if (!hasResponse) this.endUnanswered();
    const purpose = this.purposeOf(request, id, { messageId, run: run.nextNumber });
    const mark = context.mark();
    this.take(writes, request, id);
    const draft = messages.begin(messageId, request.continues?.message, true, request);
    if (hasResponse) driver.startResponse(draft);
    run.openTurn(toContent(request.parts), { messageId: id });
    context.store(writes, purpose, context.takeSince(mark));
  }
}

/** Whether the writes restart the turn of a stored message that the agent has not answered. */
function restartsIn(writes: readonly Write[]): boolean {
  return writes.some((write) => write.do === 'rewind' && write.restart);
}
