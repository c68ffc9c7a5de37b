import { exhaustive } from '../../../protocol/exhaustive.ts';
import { toProtocolError, type WaitingAnswer } from '../../../protocol/index.ts';
import type { SessionOptions } from '../../engine.ts';
import type { CallRecord } from '../../store/store.ts';
import { AgentRun } from './agent-run.ts';
import { Calls } from './calls/calls.ts';
import { Context, deciderOf } from './context.ts';
import { Driver } from './driver/driver.ts';
import type { Effect, Purpose } from './effects.ts';
import type { Circumstances, Input, Recovered, WriteResults } from './inputs.ts';
import { Messages, UserMessages } from './messages.ts';
import { OpenCalls } from './open-calls.ts';
import { Speech } from './speech.ts';
import { Turns } from './turns/turns.ts';

/**
 * The state of one conversation, over SSE and BIDI. `apply` takes every input and returns effects as plain data. It is synchronous and does no input
 * or output; ids and time are passed in. The state is divided among these objects: context, messages (with open calls), run, speech, calls, driver,
 * turns. Each calls only the objects before it in this list.
 */
export class ConversationState {
  private readonly context: Context;
  private readonly open = new OpenCalls();
  private readonly messages: Messages;
  private readonly run: AgentRun;
  private readonly speech: Speech;
  private readonly calls: Calls;
  private readonly driver: Driver;
  private readonly turns: Turns;

  constructor(options: SessionOptions, newId: () => string, recovered: Recovered) {
    const { open } = this;
    const context = new Context(options, newId);
    const messages = new Messages(context, open);
    const userMessages = new UserMessages(recovered.userMessages, recovered.unanswered);
    const run = new AgentRun(context, open);
    const speech = new Speech(context, open, messages, userMessages, run);
    const calls = new Calls(context, open, messages, run);
    const driver = new Driver(context, open, messages, run, speech, calls);
    this.context = context;
    this.messages = messages;
    this.run = run;
    this.speech = speech;
    this.calls = calls;
    this.driver = driver;
    this.turns = new Turns(
      ...([context, open, messages, userMessages, run, speech, calls, driver, recovered.queue] as const),
    );
    for (const message of recovered.messages) messages.add(message);
    // Only an agent that is driven turn by turn continues the newest message when all calls of a step are answered. A live model has written nothing
    // in this process yet, and responds to each answer as it comes.
    if (options.driver === 'turn') messages.recall(recovered.newest);
    for (const { record, state, ...facts } of recovered.calls) open.add(record, state, facts);
  }

  /** Whether the agent works, as opposed to waiting for the user or the browser. */
  get isBusy(): boolean {
    return this.turns.isBusy;
  }

  /** Whether a request for a turn is starting, or waits to start. */
  get isStarting(): boolean {
    return this.turns.isStarting;
  }

  /** See `Turns.copyOf`. */
  copyOf(...message: Parameters<Turns['copyOf']>): ReturnType<Turns['copyOf']> {
    return this.turns.copyOf(...message);
  }

  /** Whether the user speaks, or waits for an answer to speech. */
  isInSpeech(now: number): boolean {
    return this.speech.isUnanswered(now);
  }

  /** Whether an HTTP response is being streamed. */
  get isResponding(): boolean {
    return this.context.isResponding;
  }

  /** Whether the agent has a run: opening, open or closing. */
  get isRunOpen(): boolean {
    return !this.run.isNone;
  }

  /** The id of the message that is being written or that waits for an answer; null when there is none. */
  get current(): string | null {
    return this.messages.active?.id ?? this.open.records[0]?.messageId ?? null;
  }

  /** The id of the message that the agent is writing, or will write next; null when the agent is idle. */
  get running(): string | null {
    if (this.isBusy) return this.current;
    return this.turns.nextMessageId ?? this.open.nextTakenUp?.messageId ?? null;
  }

  /** The calls that wait for an answer of the user or the browser. */
  get waitingAnswers(): WaitingAnswer[] {
    return this.open.waitingAnswers;
  }

  /** The facts about a call that the tool gets just before the tool runs. The call is stored, or ADK's own loop runs it. */
  circumstancesOf(callId: string): Circumstances {
    const { open, messages } = this;
    const call = open.get(callId);
    const draft = call ? messages.get(call.record.messageId) : messages.active;
    const { metadata = null, request = null } = draft?.cause ?? {};
    const isSignIn = call?.record.question?.kind === 'sign-in';
    const by = isSignIn ? null : call?.approvedBy;
    const facts = { metadata: metadata ?? {}, request, decidedBy: by ? deciderOf(by) : null };
    return {
      facts,
      ...(metadata === null ? { metadataBefore: call?.record.messageId ?? draft?.id ?? null } : {}),
      ...(call && !by && !isSignIn && call.record.approvalId !== null ? { approverOf: call.record } : {}),
    };
  }

  get openCalls(): CallRecord[] {
    return this.open.records;
  }

  /**
   * Applies an input; returns the effects, in order. An event with only text deltas takes a fast path: it changes nothing that could start other
   * work, so `Turns.settle` is not called. `now` returns the time of the input. The fast path does not call it: it needs no time, and reading the
   * clock for each delta is a measurable part of the server's CPU time.
   */
  apply(input: Input, now: () => number): Effect[] {
    if (input.type === 'event') {
      const deltas = this.driver.events.deltas(input.n, input.event);
      if (deltas) return deltas;
    }
    this.context.startInput(now());
    this.dispatch(input);
    this.turns.settle();
    const { reports } = this.calls;
    if (reports.waiting.size > 0) reports.show();
    this.speech.settle();
    this.turns.setTimer();
    return this.context.takeEffects();
  }

  private dispatch(input: Input): void {
    const { context, speech, calls, driver, turns } = this;
    switch (input.type) {
      case 'event':
        return driver.events.take(input.n, input.event, input.view);
      case 'message':
        return turns.take(input.message, input.replaces);
      case 'continue':
        return turns.continue(input.message);
      case 'instruct':
        return turns.instruct(input.message);
      case 'speak':
        return turns.enqueue(input.spoken);
      case 'post-answers':
        return turns.enqueue(input.posted);
      case 'answer':
        return turns.answers.take(input.answers, input.by, input.request);
      case 'signed-in':
        return input.question.why === 'decision'
          ? turns.answers.signInChecked(input.question.given, input.status)
          : calls.signInChecked(input.question.callId, input.status);
      case 'interrupt':
        return turns.interruptFor(input.request, input.heard);
      case 'media':
        if (turns.isFree) speech.feed({ is: 'media', blob: input.blob }, input.from);
        return;
      case 'microphone':
        return input.action === 'stop'
          ? speech.stopMicrophone()
          : speech.startMicrophone(input.detection, input.from, turns.isBusy, turns.isFree);
      case 'joined':
        return turns.joined();
      case 'left':
        return context.leave();
      case 'run-opened':
        return turns.runOpened(input.n);
      case 'deferred':
        return driver.deferred(input.n, input.call, input.ticket);
      case 'run-ended':
        return turns.runEnded(input.n, input.error);
      case 'lock-acquired':
        return calls.lockAcquired(input.callId);
      case 'tool-progress':
        return calls.reports.takeProgress(input.callId, input.output);
      case 'tool-chunks':
        return calls.reports.takeChunks(input.callId, input.chunks);
      case 'tool-ended':
        return calls.toolEnded(input.callId, input.outcome);
      case 'stored':
        return this.stored(input.purpose, input.results);
      case 'store-failed':
        return this.storeFailed(input.purpose, input.error);
      case 'time':
        return turns.time();
      case 'shut-down':
        return turns.shutDown();
      default:
        return exhaustive(input);
    }
  }

  /** Handles a batch of writes that succeeded: continues the work that waited for it. */
  private stored(purpose: Purpose, results: WriteResults): void {
    const { speech, calls, driver, turns } = this;
    switch (purpose.for) {
      case 'decision':
        return turns.answers.decided(purpose, results);
      case 'execution':
        if (results.isTaken === false) calls.notStarted(purpose, false);
        return;
      case 'expiry':
        return calls.expired(purpose, results.decided ?? null);
      case 'conclusion':
        return driver.concluded(purpose.messageId, results.missed);
      case 'call':
        return calls.issued(purpose.callId, purpose.ticket);
      case 'cut':
        if (results.length != null) speech.wasCut(purpose.messageId, results.length);
        return;
      case 'message':
        return turns.stored(purpose.request);
      case 'continuation':
        return turns.found(purpose.request, results.cut ?? null);
      case 'queued-message':
      case 'spoken':
      case 'approval-request':
        return;
      default:
        return exhaustive(purpose);
    }
  }

  /** Handles a failed write: ends or retries the work that waited for it. */
  private storeFailed(purpose: Purpose | null, error: unknown): void {
    const { context, calls, driver, turns } = this;
    switch (purpose?.for) {
      case 'message':
        return turns.turnStart.notStored(purpose, toProtocolError(error));
      case 'queued-message':
        return turns.notQueued(purpose.userMessageId, toProtocolError(error));
      case 'spoken':
        return context.reject(purpose.request, toProtocolError(error));
      case 'continuation':
        return turns.turnStart.notFound(purpose.request, toProtocolError(error));
      case 'decision':
        return turns.answers.reject(purpose.given, toProtocolError(error));
      case 'call':
        return calls.notIssued(purpose);
      case 'approval-request':
        return calls.notShown(purpose);
      case 'execution':
        return calls.notStarted(purpose, true);
      case 'expiry':
        return calls.notExpired(purpose);
      case 'conclusion':
        return driver.notConcluded(purpose.messageId);
      case 'cut':
      case undefined:
        return;
      default:
        return exhaustive(purpose);
    }
  }
}
