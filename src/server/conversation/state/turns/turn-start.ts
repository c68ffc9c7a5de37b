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

/** The error text of a message whose failure has no known cause. */
const UNKNOWN_FAILURE = modelErrorText('UNKNOWN_ERROR', '');

/** Starts turns, one at a time: stores a user message and gives it to the agent. */
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

  /** Starts a request, or as much of it as possible. A request that must wait is continued by `resume` or `runReady`. */
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
    // A stored message without an answer, because its process died, starts again: that removes no message.
    const restarts = rewinds && this.userMessages.unanswered === request.id;
    const replaces = (newMessage === 'supersedes' && !isSpoken) || (rewinds && !restarts);
    starting.set({ is: 'waiting', request });
    // Close an open run first: its model still has the messages that a rewind removes, and lacks the text of a failed answer or of the application.
    if (run.isClosing || ((replaces || rewinds || continues || isSpoken) && !run.isNone)) return run.close();
    if (isSpoken) return this.speak(request);
    const late = hasResponse ? calls.expireQuietly() : [];
    if (late === null) return;
    // This message replaces an unfinished turn, which ends before anything else starts.
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
    // Save unfinished drafts first, even empty ones: clients got them before this user message, so the store must order them before it.
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

  /** Tries again to start a request that waits. Returns whether it has started. */
  resume(): boolean {
    const { current } = this.starting;
    if (current?.is !== 'waiting') return false;
    this.start(current.request);
    return this.starting.current?.is !== 'waiting';
  }

  /** Continues the requests and outcomes that waited for a live run: it is open now, or it failed to open for the reason in `failure`. */
  runReady(failure = UNKNOWN_FAILURE): void {
    const { run, messages } = this;
    const { current } = this.starting;
    this.calls.outcomes.endPending(run.isOpen);
    if (!current) return;
    if (current.is === 'waiting' || current.is === 'reading') return this.start(current.request);
    if (current.is !== 'stored') return;
    this.sendToRun([], current.request, current.id);
    // The run could not be opened: the answer to the message is the failure.
    if (!run.isOpen && messages.active) this.fail(messages.active, failure);
  }

  private fail(draft: Draft, failure: string): void {
    draft.fail(failure);
    this.messages.finish(draft);
  }

  /**
   * Continues a request after its message was looked up; `message` is null when it is not the last one, or was not cut. Returns whether the request
   * was interrupted.
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

  /** Rejects a request whose message to continue does not exist, or could not be read. */
  notFound(request: RequestRef, error: ProtocolError): void {
    if (this.starting.isOf(request)) this.starting.clear();
    this.context.reject(request, error);
  }

  /** Removes and returns a request that has not started, because the server closes. */
  giveUp(): TurnRequest | null {
    const { current } = this.starting;
    if (current?.is !== 'waiting' && current?.is !== 'finding') return null;
    this.starting.clear();
    return current.request;
  }

  /** Handles an interruption by the user: a stored message that waits for its run starts at once. Returns false when there is none. */
  interrupt(): boolean {
    const { current } = this.starting;
    this.starting.interrupt();
    if (current?.is !== 'stored') return false;
    this.sendToRun([], current.request, current.id);
    return true;
  }

  /** Continues after a message was stored: the agent gets it when a live run is open. Returns whether it was interrupted meanwhile. */
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
   * Handles a message that could not be stored: its client gets the error, and the message is removed. The answer to a message that was stored before
   * ends with a failure.
   */
  notStored(
    { request, userMessageId, messageId, run: n, isStored }: MessagePurpose,
    error: ProtocolError,
  ): void {
    const { messages, run, driver, starting } = this;
    // The message is not stored: if the client sends it again, it must not be ignored as a duplicate.
    this.userMessages.forget(userMessageId);
    const draft = messageId === null ? undefined : messages.get(messageId);
    if (isStored && draft) {
      // Its `start` chunk waited for this write: send it now, so that the failure has a message.
      messages.resume(draft);
      return this.fail(draft, UNKNOWN_FAILURE);
    }
    if (draft) messages.forget(draft);
    // The model may have got the outcome of a call while the write failed: then it continues the message of that call.
    if (draft && !messages.active) messages.activateNext();
    const hadRun = run.neverOpened(n);
    if (starting.isOf(request)) starting.clear();
    if (!this.putBack(request)) this.context.reject(request, error);
    if (draft && driver.responding === draft) return driver.endResponse();
    if (hadRun) this.runReady();
  }

  /** Puts a message that could not start back into the queue, which waits a moment; returns false when it did not come from the queue. */
  private putBack(request: RequestRef): boolean {
    const { context, queue } = this;
    const message = queue.takeStarting(request);
    if (!message) return false;
    // The process ends: the next one starts the stored message.
    if (context.isClosed) context.takeRequest(request);
    else queue.putBack(message);
    queue.setRetryAt(context.now + RETRY_MS);
    return true;
  }

  /** Ends the open calls for a new user message, so that no call in the history is without a response. */
  private supersede(): void {
    const { open, calls, context, messages } = this;
    const outcome: CallOutcome = { kind: 'error', errorText: SUPERSEDED };
    for (const call of open.all) calls.outcomes.publishSettled(calls.outcomes.endQuietly(call, outcome));
    messages.endLeftovers();
    context.store(
      [{ do: 'close-dangling', errorText: SUPERSEDED, messageId: null, waiting: new Set() }],
      null,
    );
  }

  /** Sends the user message, or the rewind, to watchers. Nothing is sent for a message that is restarted: listeners already have it. */
  private publish(writes: readonly Write[], messageId: string): void {
    if (restartsIn(writes)) return;
    for (const write of writes) {
      if (write.do === 'rewind')
        this.messages.inject({ type: 'data-rewind', data: { messageId }, transient: true });
      if (write.do === 'store-message') this.context.emit({ type: 'publish-message', messageId });
    }
  }

  /** Emits the effects that follow the writes of a message: watchers get the message, and its request is reported as handled and acknowledged. */
  private take(writes: readonly Write[], request: MessageRequest, id: string): void {
    this.publish(writes, id);
    this.context.takeRequest(request.request);
    this.context.acknowledge(request.request, this.acceptedWith(request));
  }

  /** The stored form of a request that is written with its message; undefined when it was already stored with the queued message. */
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

  /** Sends a user message to the live run. `isStored`: the message was stored before, and its request acknowledged. */
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
    // If the history cannot take the message, its request is rejected and the message is removed: it is still the last one.
    const undo: Write[] =
      isStored || continues || request.isInstruction || restartsIn(writes)
        ? []
        : [{ do: 'remove-message', messageId: id }];
    const append: Write = { do: 'append-message', messageId: id, parts };
    context.store([...writes, append], purpose, context.takeSince(mark), undo);
  }

  /**
   * Ends or pauses the active message before the next one starts: the agent may have started to speak by itself, or not have continued as expected.
   */
  private endUnanswered(): void {
    const { messages, open } = this;
    const { active, isWorking } = messages;
    if (!active) return;
    if (!open.hasIn(active.id)) messages.finish(active, { interrupted: isWorking });
    // A message with open calls continues when they are answered, so that it finishes only once.
    else if (isWorking) messages.pause(active);
  }

  /** Sends a text of the application as a message of the agent. Open calls stay open, and the model finds the text in its history. */
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

  /** Opens a run in which the agent answers a user message. */
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

/** Whether the writes restart the turn of a stored message that has no answer. */
function restartsIn(writes: readonly Write[]): boolean {
  return writes.some((write) => write.do === 'rewind' && write.restart);
}
