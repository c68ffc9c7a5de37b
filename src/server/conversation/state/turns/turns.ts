import type { Heard, ProtocolError } from '../../../../protocol/index.ts';
import { fingerprint } from '../../../files.ts';
import { INTERRUPTION } from '../../../ledger/approvals.ts';
import type { AgentRun } from '../agent-run.ts';
import type { Calls } from '../calls/calls.ts';
import { acceptedRequest, type Context } from '../context.ts';
import type { Driver } from '../driver/driver.ts';
import type { RequestRef } from '../effects.ts';
import { type Failure, nothingToContinue, shuttingDown, tooManyWait, waitsForAnswers } from '../errors.ts';
import type { MessageRequest, TurnRequest } from '../inputs.ts';
import type { Messages, UserMessages } from '../messages.ts';
import type { OpenCalls } from '../open-calls.ts';
import type { Speech } from '../speech.ts';
import { Answers } from './answers.ts';
import { MessageQueue, Starting } from './next-turn.ts';
import { TurnStart } from './turn-start.ts';

/** An earlier copy of a message. `request`: the id of the request with the copy, which waits or starts. `isNewest`: the copy is the newest user message. */
type Copy = { request: number } | { isNewest: boolean };

/** Decides which request the agent gets next, how a turn is interrupted, and when the session ends. */
export class Turns {
  readonly answers: Answers;
  readonly turnStart: TurnStart;
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;
  private readonly userMessages: UserMessages;
  private readonly run: AgentRun;
  private readonly speech: Speech;
  private readonly calls: Calls;
  private readonly driver: Driver;
  private readonly queue: MessageQueue;
  private readonly starting = new Starting();
  private wakesAt: number | null = null;

  constructor(
    context: Context,
    open: OpenCalls,
    messages: Messages,
    userMessages: UserMessages,
    run: AgentRun,
    speech: Speech,
    calls: Calls,
    driver: Driver,
    stored: readonly MessageRequest[],
  ) {
    this.context = context;
    this.open = open;
    this.messages = messages;
    this.userMessages = userMessages;
    this.run = run;
    this.speech = speech;
    this.calls = calls;
    this.driver = driver;
    const { starting } = this;
    const queue = new MessageQueue(stored);
    const answers = new Answers(context, open, messages, calls, driver, starting);
    this.queue = queue;
    this.answers = answers;
    this.turnStart = new TurnStart(
      ...([context, open, messages, userMessages, run, calls, driver, queue, starting, answers] as const),
    );
  }

  /** Whether the agent works, as opposed to waiting for the user or the browser. */
  get isBusy(): boolean {
    const { messages, open, run, context } = this;
    return messages.isWorking || open.areAtWork || run.hasMadeCalls || context.isResponding;
  }

  /** Whether a request is starting, or waits to start. A stored message that waits is left out while no client listens. */
  get isStarting(): boolean {
    const { hasListener } = this.context;
    const counts = (one: TurnRequest) => hasListener || one.kind !== 'message' || !one.isStored;
    return this.starting.request !== null || this.queue.find(counts) !== undefined;
  }

  /**
   * The id of the assistant message that the next request starts. Null when no request waits, when the request has answers, and when it has no id for the
   * message yet.
   */
  get nextMessageId(): string | null {
    const request = this.starting.request ?? this.queue.first;
    return (request && request.kind !== 'answers' && request.answerId) || null;
  }

  /** Whether the model may get sound or pictures: no request is about to start, no HTTP response is being streamed, and the conversation is not closed. */
  get isFree(): boolean {
    return !this.context.isClosed && !this.context.isResponding && !this.isStarting;
  }

  /**
   * Handles a user message. A message with the id of an earlier one, but other content, rewinds the conversation to that message. `replaces`: one with the
   * same content does so too, instead of being ignored as a repetition.
   */
  take(message: MessageRequest, replaces: boolean): void {
    const { context, queue } = this;
    const { request } = message;
    const policy = context.policyFor(message.wire);
    // A client sends its message again when the conversation closes here, to the next process, and after a lost connection, because it cannot know whether
    // the message arrived.
    if (policy.ignoresRepeats && context.isClosed) return context.takeRequest(request);
    if (policy.ignoresRepeats && !replaces && this.copyOf(message)) return this.finishRequest(request);
    if (policy.interruptsWhenBusy && this.isBusy) {
      this.interrupt();
      this.settle();
    }
    // A client that named its request gets the id of the answer with the acknowledgement, before the answer starts.
    const answerId = message.answerId ?? (request.name === undefined ? undefined : context.newMessageId());
    if (!policy.ignoresRepeats)
      for (const copy of queue.takeCopies(message)) context.takeRequest(copy.request);
    this.enqueue(answerId === message.answerId ? message : { ...message, answerId });
  }

  /**
   * Handles a request to continue a message that was cut off. The request is rejected while the agent works or another request waits, because the message
   * will not be the last one then.
   */
  continue(message: MessageRequest): void {
    const { context } = this;
    const { request, wire } = message;
    if (context.policyFor(wire).ignoresRepeats && context.isClosed) return context.takeRequest(request);
    if (this.isBusy || this.isStarting) return context.reject(request, nothingToContinue());
    this.enqueue(message);
  }

  /** Handles an instruction of the application, which never interrupts the agent. */
  instruct(message: MessageRequest): void {
    const { context } = this;
    // Over SSE a new turn ends the open calls, which only the user may do.
    if (context.policyFor(message.wire).newMessage === 'supersedes' && this.open.size > 0)
      return context.reject(message.request, waitsForAnswers());
    this.enqueue(message);
  }

  /** Ends the handling of a request that starts no turn: stores and acknowledges the request. */
  private finishRequest(request: RequestRef): void {
    this.context.takeRequest(request);
    this.context.storeRequest(request);
  }

  /**
   * Adds a request to the queue. Rejects it when the queue is full or the conversation is closed. A user message from a socket that cannot start now is
   * stored.
   */
  enqueue(request: TurnRequest): void {
    const { context, queue } = this;
    if (context.isClosed) return context.reject(request.request, shuttingDown());
    if (queue.isFull) return context.reject(request.request, tooManyWait('messages'));
    queue.add(request);
    this.startNext();
    // An HTTP request keeps its connection open while it waits, so its message is not stored in the queue.
    const isStored = request.kind === 'message' && !context.policyFor(request.wire).hasResponse;
    if (isStored && queue.last === request && !request.continues && !request.isInstruction)
      this.storeQueued(request);
  }

  private storeQueued(message: MessageRequest): void {
    const { context } = this;
    const { id = context.newMessageId(), parts, metadata, request, answerId } = message;
    const accepted = acceptedRequest(request, answerId);
    this.queue.replaceLast({ ...message, id, isStored: true });
    context.store(
      [{ do: 'store-queued', id, parts, metadata, answerId, accepted }],
      { for: 'queued-message', userMessageId: id },
      accepted ? [{ type: 'acknowledge', request, accepted }] : [],
    );
  }

  /**
   * Handles a queued message that could not be stored: its request is rejected. If its turn has started meanwhile, the turn stores the message,
   * and this method stores the request if the turn does not.
   */
  notQueued(id: string, error: ProtocolError): void {
    const { context, queue } = this;
    const queued = queue.take((one) => one.kind === 'message' && one.id === id);
    if (queued) context.reject(queued.request, error);
    this.starting.markUnstored(id);
    for (const { request, answerId } of queue.takeStartingById(id))
      context.storeRequest(request, acceptedRequest(request, answerId));
  }

  /** The earlier message with the same id and content. Null when no such message exists, or when it has no answer because its process died. */
  copyOf({ id, parts }: Pick<MessageRequest, 'id' | 'parts'>): Copy | null {
    const { messages, userMessages, queue, starting } = this;
    if (id === undefined) return null;
    const isThat = (one: TurnRequest) =>
      one.kind === 'message' && one.id === id && fingerprint(one.parts) === fingerprint(parts);
    const { request } = starting;
    const pending = request && isThat(request) ? request : queue.find(isThat);
    if (pending) return { request: pending.request.id };
    // A stored message without an answer is no repetition when nothing runs: its process died before the agent answered, so its turn starts again.
    const isLost = messages.active === null && !this.isBusy && userMessages.unanswered === id;
    return isLost || !userMessages.matches(id, parts) ? null : { isNewest: userMessages.newest === id };
  }

  /** Starts the next request, if the agent is free. Returns whether anything changed. */
  private startNext(): boolean {
    const { context, queue, starting } = this;
    if (starting.request || this.isBusy || context.isClosed || queue.retryAt !== null) return false;
    const { first } = queue;
    if (!first || (this.answers.isReading && context.policyFor(first.wire).hasResponse)) return false;
    // Before anything else starts, clients get the calls that timed out.
    if (context.hasListener) this.calls.expire();
    // A call has just timed out and the agent continues with its outcome, so the agent is no longer free.
    if (this.isBusy) return true;
    const next = queue.take(({ wire }) => context.isOpen || context.policyFor(wire).hasResponse);
    if (!next) return false;
    this.turnStart.start(next);
    return true;
  }

  /** Starts everything that can start now: delayed calls and requests, held answers, the agent's next run. Called after every input. */
  settle(): void {
    const { calls } = this;
    do {
      calls.continue();
      const isResumed = this.turnStart.resume();
      if (!isResumed && !this.open.areExpiring && !this.starting.request) calls.publishLate();
    } while (this.answers.takeHeld() || this.driver.continue() || this.startNext());
    calls.requests.showHeld();
  }

  /**
   * Handles the request of a client to interrupt the agent. A request that names a message interrupts only that message, because the agent may already be
   * writing the next one. When the user's speech is the reason, only the playback and the text are cut: the model stops by itself.
   */
  interruptFor(request: RequestRef, heard: Heard): void {
    const { context } = this;
    const isMeant = heard.messageId === undefined || this.isUnderWay(heard.messageId);
    if (isMeant && !heard.isSpeech) this.interrupt();
    context.emit({ type: 'stop-playback' });
    this.speech.cut(heard);
    this.finishRequest(request);
  }

  private isUnderWay(messageId: string): boolean {
    const current = this.driver.responding ?? this.messages.active;
    return current?.id === messageId || this.open.hasIn(messageId);
  }

  /** Ends the agent's output and the open calls. */
  interrupt(): void {
    const { context, messages, open, run, driver, calls } = this;
    if (driver.stopResponse()) return;
    const { active } = messages;
    if (!this.turnStart.interrupt() && !messages.isWorking && !active && open.size === 0) return;
    context.emit({ type: 'abort-tools' });
    const waits = active !== null && open.hasIn(active.id);
    if (context.policy.pauseEndsRun) driver.stopTurn();
    else if (messages.isWorking || waits || run.hasMadeCalls) run.mute();
    const touched = new Set(messages.expected);
    for (const call of open.all) {
      const owner = messages.get(call.record.messageId);
      if (owner) touched.add(owner);
      calls.outcomes.end(call, call.outcome ?? INTERRUPTION, { isOffline: true });
    }
    messages.setWorking(false);
    messages.dropNext();
    // A message that lost its last call may have finished already. The others finish here.
    messages.finishStarted(touched);
  }

  /** Handles the result of the search for a message to continue. If the user interrupted meanwhile, its turn is interrupted when it has started. */
  found(...found: Parameters<TurnStart['found']>): void {
    if (this.turnStart.found(...found)) this.interrupt();
  }

  /** Continues with a user message that is stored now. If the user interrupted meanwhile, its turn is interrupted when it has started. */
  stored(request: RequestRef): void {
    if (this.turnStart.stored(request)) this.interrupt();
  }

  /** Handles the opening of a live run: the run gets the media and the requests that waited for it. */
  runOpened(n: number): void {
    if (!this.run.opened(n)) return;
    this.speech.runOpened();
    this.turnStart.runReady();
  }

  /** Handles the end of a run. The end of an older run is ignored. */
  runEnded(n: number, error: Failure | null): void {
    const { run, driver, turnStart, speech } = this;
    const ended = run.ended(n);
    if (!ended) return;
    if (ended.driver === 'turn') {
      if (driver.turnEnded(error, ended.wasClosed)) turnStart.runReady();
      return;
    }
    turnStart.runReady(driver.liveRunEnded(ended, error));
    this.startNext();
    if (speech.runEnded() && this.isFree) run.openLive();
  }

  /** Handles that a client listens: calls that another run or another process left open continue. */
  joined(): void {
    if (this.context.join() && !this.context.isResponding) this.calls.takeUp();
  }

  /** Closes the conversation, because the process ends, hands the session over, or removes it: queued requests do not start. */
  shutDown(): void {
    const { context, open, queue, calls, driver } = this;
    context.close();
    const waiting = this.turnStart.giveUp();
    for (const { request, wire } of [...(waiting ? [waiting] : []), ...queue.takeAll()]) {
      // A request over HTTP is rejected. A queued message from a socket is stored, so the next process starts it. A client repeats any other request
      // over its next socket.
      if (context.policyFor(wire).hasResponse) context.reject(request, shuttingDown());
      else context.takeRequest(request);
    }
    this.answers.takeHeld();
    // These tools have run. The next process would report their outcomes as unknown if they were not stored.
    for (const call of open.inState('ending'))
      if (call.outcome) calls.outcomes.end(call, call.outcome, { isOffline: true });
    for (const call of open.all) {
      const pending = call.takeAcknowledgement();
      if (pending) context.reject(pending.request, shuttingDown());
    }
    context.emit({ type: 'abort-tools' });
    if (context.isResponding) this.interrupt();
    else driver.abandonRun();
  }

  /**
   * Handles the timer: notes that no client returned in time. Unless an HTTP response is being streamed, also ends calls that timed out and retries starts of
   * calls, if a client listens, and ends the delay of the queue.
   */
  time(): void {
    const { context, calls, queue } = this;
    this.wakesAt = null;
    context.startLeaving();
    if (context.isResponding) return;
    if (context.hasListener) {
      calls.expire();
      calls.retry();
    }
    if (queue.retryAt !== null && queue.retryAt <= context.now) queue.setRetryAt(null);
  }

  /**
   * Abandons the session if no client returned in time and nothing runs. Sets the timer to the next time at which `time` has something to do. Called
   * after every input.
   */
  setTimer(): void {
    const { context, run } = this;
    if (context.isLeaving && !this.isBusy && !this.isStarting) {
      context.abandon();
      run.close();
    }
    const at = context.isResponding ? null : this.nextTime();
    if (at === this.wakesAt) return;
    this.wakesAt = at;
    context.emit({ type: 'wake', at });
  }

  private nextTime(): number | null {
    const { context, open, queue, calls } = this;
    // A process that closes expires no calls, because it may have forgotten their messages. The next process does.
    if (!context.hasListener || context.isClosed) return earlier(queue.retryAt, context.abandonsAt);
    return earlier(queue.retryAt, earlier(open.nextDeadline(), calls.retryAt));
  }
}

/** The earlier of two times. Called for every input, so it allocates nothing. */
function earlier(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
