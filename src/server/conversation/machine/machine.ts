import type { Event } from '@google/adk';
import { exhaustive } from '../../../protocol/exhaustive.ts';
import { toProtocolError, type WaitingAnswer } from '../../../protocol/index.ts';
import type { SessionOptions } from '../../engine.ts';
import type { CallRecord } from '../../store/store.ts';
import type { Words } from './agent-events.ts';
import type { About, Effect } from './effects.ts';
import type { Input, Recovered, WriteResults } from './inputs.ts';
import { Parts } from './parts.ts';

/**
 * One conversation, in both modes, without any input or output: whatever happens is pushed in, and what is to be done about it
 * comes out. It is synchronous, and it alone changes the state of a session.
 */
export class Machine {
  private readonly parts: Parts;

  constructor(options: SessionOptions, newId: () => string, recovered: Recovered) {
    this.parts = new Parts(options, newId, recovered);
  }

  /** Whether the agent is at work, as opposed to waiting for the person or the browser. */
  get isBusy(): boolean {
    return this.parts.isBusy;
  }

  /** Whether something waits to begin, or is beginning. */
  get isBeginning(): boolean {
    return this.parts.inbox.isBeginning;
  }

  /** Whether the person is in the middle of saying something aloud, or waits for an answer to it. */
  isSpokenTo(now: number): boolean {
    return this.parts.transcript.isUnanswered(now);
  }

  /** Whether a response over SSE is being given. */
  get isResponding(): boolean {
    return this.parts.isResponding;
  }

  /** Whether the agent's run is open, or about to be. */
  get isRunOpen(): boolean {
    return !this.parts.run.isNone;
  }

  /** The message that is being written or that waits for an answer. */
  get current(): string | null {
    const { messages, open } = this.parts;
    return messages.speaking?.message.id ?? open.records[0]?.messageId ?? null;
  }

  /** The message that the agent is at work on, or writes next; null when it is at rest. */
  get running(): string | null {
    const { messages, inbox, open, isBusy } = this.parts;
    if (isBusy) return messages.speaking?.message.id ?? this.current;
    return inbox.nextAnswer ?? open.nextTakenUp?.messageId ?? null;
  }

  /** The calls that wait for an answer of the page. */
  get waitingAnswers(): WaitingAnswer[] {
    return this.parts.open.waitingAnswers;
  }

  /** The calls that are not settled. */
  get openCalls(): CallRecord[] {
    return this.parts.open.records;
  }

  /**
   * Takes an event that is nothing but words of the message that is being written, and returns them: to say them is all that there is to do.
   * Null for any other event, which has to be pushed. Most of what happens are tokens, and this is their whole way.
   */
  words(n: number, event: Event): Words | null {
    return this.parts.run.words(n, event);
  }

  /** Takes what happened; returns what is to be done, in order. */
  push(input: Input, now: number): Effect[] {
    const { core, life, hearing, calls } = this.parts;
    core.now = now;
    this.take(input);
    calls.showHeld();
    hearing.settle();
    life.arm();
    return core.take();
  }

  private take(input: Input): void {
    const { run, media, executions, inbox, answers, life, turnEnds } = this.parts;
    switch (input.type) {
      case 'event':
        return run.event(input.n, input.event, input.view);
      case 'say':
        return inbox.say(input.said, input.again);
      case 'continue':
        return inbox.continue(input.said);
      case 'post-answers':
        inbox.queue(input.posted);
        return;
      case 'answer':
        return answers.take(input.answers, input.by, input.asker);
      case 'signed-in':
        return input.question.why === 'decision'
          ? answers.signedIn(input.question.given, input.standing)
          : executions.signedIn(input.question.callId, input.standing);
      case 'interrupt':
        return turnEnds.interruptFor(input.asker, input.heard);
      case 'media':
        if (inbox.isFree) media.feed({ is: 'media', blob: input.blob }, input.from);
        return;
      case 'microphone':
        return media.microphone(input.action, input.detection, input.from);
      case 'joined':
        return life.joined();
      case 'left':
        return life.left();
      case 'abandoned':
        return life.abandoned();
      case 'opened':
        return run.opened(input.n);
      case 'deferred':
        return run.deferred(input.n, input.call, input.ticket);
      case 'ended':
        return run.ended(input.n, input.error);
      case 'slot':
        return executions.run(input.callId);
      case 'tool-ended':
        return executions.ended(input.callId, input.outcome);
      case 'stored':
        return this.stored(input.about, input.results);
      case 'store-failed':
        return this.storeFailed(input.about, input.error);
      case 'time':
        return life.time();
      case 'shut-down':
        return life.shutDown();
      default:
        return exhaustive(input);
    }
  }

  /** What waited for a write goes on. */
  private stored(about: About, results: WriteResults): void {
    const { answers, executions, responses, turnBegins, turnByTurn, calls, callEnds, hearing } = this.parts;
    switch (about.what) {
      case 'decision':
        return answers.decided(about, results);
      case 'execution':
        if (results.isTaken === false) executions.notRun(about.callId, false);
        return;
      case 'expiry':
        return callEnds.expired(about, results.decided ?? null);
      case 'conclusion':
        return this.isResponding
          ? responses.concluded(about.messageId, results)
          : turnByTurn.concluded(results);
      case 'call':
        return calls.issued(about.callId, about.ticket);
      case 'heard':
        if (results.length != null) hearing.wasCut(about.messageId, results.length);
        return;
      case 'message':
        return turnBegins.kept(about.asker);
      case 'continuation':
        return turnBegins.found(about.asker, results.cut ?? null);
      case 'waiting':
      case 'card':
        return;
      default:
        return exhaustive(about);
    }
  }

  /** What waited for a write is not done. */
  private storeFailed(about: About | null, error: unknown): void {
    const { core, inbox, answers, calls, callEnds, executions, responses, turnBegins, turnByTurn } =
      this.parts;
    core.emit({
      type: 'note',
      level: 'error',
      text: 'something was not kept',
      fields: { error: String(error), what: about?.what },
    });
    if (!about) return;
    switch (about.what) {
      case 'message':
        return turnBegins.notBegun(about, toProtocolError(error));
      case 'waiting':
        return inbox.notWaiting(about.said, toProtocolError(error));
      case 'continuation':
        return turnBegins.notFound(about.asker, toProtocolError(error));
      case 'decision':
        return answers.refused(about.given, toProtocolError(error));
      case 'call':
        return calls.notIssued(about);
      case 'card':
        return calls.notShown(about);
      case 'execution':
        return executions.notRun(about.callId, true);
      case 'expiry':
        return callEnds.notExpired(about);
      case 'conclusion':
        return this.isResponding ? responses.notConcluded(about.messageId) : turnByTurn.notConcluded();
      case 'heard':
        return;
      default:
        return exhaustive(about);
    }
  }
}
