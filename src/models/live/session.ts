import type { LlmResponse } from '@google/adk';
import type {
  Content,
  FunctionResponse,
  LiveServerMessage,
  LiveServerSessionResumptionUpdate,
} from '@google/genai';
import { liveFactsOf, withLiveFacts } from '../../adk/live-facts.ts';
import { callsIn } from '../function-calls.ts';
import { GeminiActivity } from '../gemini/activity.ts';
import {
  type Frame,
  frameOfContent,
  frameOfMedia,
  type ResponseOptions,
  responseFor,
} from '../gemini/frames.ts';
import { millisecondsIn } from '../gemini/messages.ts';
import { endsInTransfer } from '../transfer.ts';
import { GeminiCalls } from './calls.ts';
import { GeminiHeld, type Given } from './held.ts';
import { seedOf } from './history.ts';
import type { LinkInput } from './link.ts';
import { GeminiHush } from './mute.ts';
import { GeminiDebt } from './pending-input.ts';
import { GeminiSilence } from './silence.ts';
import { GeminiMessages } from './turn-output.ts';

/** What is known when a session begins. */
export interface TalkOptions extends ResponseOptions {
  modelVersion: string;
  isSpoken: boolean;
  /** Whether the server finds out by itself when the person speaks; known when it has taken the setup. */
  detectsActivity: () => boolean;
  /** What was said before; told to a session that is new. */
  history: readonly Content[];
  /** For calls that come without an id. */
  newCallId: () => string;
}

/** What is to be done: something is sent, told to ADK, or said to the link. */
export type TalkEffect =
  | { type: 'send'; frame: Frame }
  | { type: 'tell'; response: LlmResponse }
  | { type: 'link'; input: LinkInput };

/** The end of what was said before, or of a turn that made calls: the answer follows. */
const CONTINUES = { continues: true, wasIdle: true };
/** Another connection than this one begins a new session. */
const NOT_RESUMABLE: LlmResponse = { liveSessionResumptionUpdate: { resumable: false } };

/** What is said on a live connection, in both directions, without any socket or clock: a session over many sockets. */
export class GeminiTalk {
  private readonly options: TalkOptions;
  private readonly messages: GeminiMessages;
  private readonly calls = new GeminiCalls();
  private readonly debt = new GeminiDebt();
  private history: readonly Content[];
  private isReady = false;
  private hasBegun = false;
  /** Whether the session is one that another connection began. */
  private isOld = false;
  private readonly held = new GeminiHeld();
  private readonly hush = new GeminiHush();
  private readonly activity: GeminiActivity;
  private notices: { text: string; isSilent: boolean }[] = [];
  private readonly silence: GeminiSilence;
  private wasBusy = false;
  private out: TalkEffect[] = [];

  constructor(options: TalkOptions) {
    this.options = options;
    this.messages = new GeminiMessages(options);
    this.activity = new GeminiActivity(options);
    const { messages, calls, debt } = this;
    const { family, nonBlocking } = options;
    this.silence = new GeminiSilence({ messages, calls, debt, family, nonBlocking });
    this.history = options.history;
  }

  /** Whether the model is in the middle of something, or owes a reaction. */
  get isBusy(): boolean {
    return this.messages.isBusy || this.debt.isOpen || this.held.hasContent;
  }

  /** When to come back, if nothing happens. */
  get wakesAt(): number | null {
    const { wakesAt } = this.messages;
    const silentAt = this.isReady ? this.silence.endsAt : null;
    if (wakesAt === null) return silentAt;
    return silentAt === null ? wakesAt : Math.min(wakesAt, silentAt);
  }

  /** ADK gives what was said before. */
  tellHistory(history: Content[]): void {
    this.history = history;
  }

  /** A socket is open. */
  ready(isResumed: boolean, now: number): TalkEffect[] {
    const isFirst = !this.hasBegun;
    this.hasBegun = true;
    this.isReady = true;
    this.silence.moved(now);
    // Nobody knows whether what was interrupted over the lost socket is ended over this one.
    this.pass(this.hush.liftForAnswer());
    if (isResumed) {
      if (isFirst) {
        this.isOld = true;
        this.calls.tell(this.history, true);
      }
      for (const response of this.debt.resumed(this.isBusy)) this.send({ functionResponses: [response] });
    } else this.begin();
    for (const given of this.held.take()) this.give(given);
    return this.done();
  }

  /** The socket is gone; another one may follow. */
  lost(): TalkEffect[] {
    this.isReady = false;
    return this.done();
  }

  /** Something for the model: at once, or when there is a socket. */
  take(given: Given, now: number): TalkEffect[] {
    if ('content' in given) this.silence.moved(now);
    const isInterrupted = 'activity' in given && given.activity === 'start';
    if (isInterrupted) this.hush.begin();
    // Whoever interrupts waits for an end: here there is nothing to end.
    if (isInterrupted && !this.isBusy) this.pass(this.hush.lift());
    if (this.isReady) this.give(given);
    else this.held.add(given);
    return this.done();
  }

  push(message: LiveServerMessage, now: number): TalkEffect[] {
    this.silence.moved(now);
    const { serverContent, toolCall, toolCallCancellation, sessionResumptionUpdate, goAway } = message;
    // Words may come behind the end of a turn. Anything else is the answer to what was asked meanwhile.
    const says = Boolean(toolCall || serverContent?.modelTurn?.parts?.length);
    if (says && this.debt.isOpen) this.tell(this.messages.complete());
    this.debt.heard(message, this.messages.isClosing);
    // Whoever speaks while a call waits is answered in another turn.
    if (serverContent?.inputTranscription?.text) this.calls.leaveTurn();
    const calls = [...(toolCall?.functionCalls ?? []), ...callsIn(serverContent?.modelTurn)].map((call) => ({
      ...call,
      id: call.id || this.options.newCallId(),
    }));
    const { fresh, responses: known } = this.calls.take(calls);
    const cancelled = toolCallCancellation?.ids ?? [];
    const unwanted = this.calls.cancel(cancelled);
    this.debt.cancelled(cancelled);
    this.tell(this.messages.push(message, now, fresh, unwanted));
    if (cancelled.length > 0 && this.calls.haveOtherIds) this.tell([NOT_RESUMABLE]);
    if (sessionResumptionUpdate) this.resumable(sessionResumptionUpdate);
    if (goAway) this.link({ type: 'goAway', inMs: millisecondsIn(goAway.timeLeft) });
    const responses = known.filter(({ id = '' }) => !cancelled.includes(id));
    if (responses.length > 0) this.respond(responses);
    return this.done();
  }

  /** Time has passed. `isHeard`: the server is being read, so that silence is its own. */
  time(now: number, isHeard = true): TalkEffect[] {
    if (!isHeard) this.silence.moved(now);
    this.tell(this.messages.complete(now));
    const silentAt = this.isReady ? this.silence.endsAt : null;
    if (silentAt !== null && now >= silentAt) this.silent(now);
    return this.done();
  }

  /** The connection is over: what was said and not yet told as a whole. */
  end(): TalkEffect[] {
    this.isReady = false;
    this.tell(this.messages.end());
    return this.out.splice(0);
  }

  /** A session that is new is told what was said before. Nobody speaks because of it. */
  private begin(): void {
    this.calls.tell(this.history, false);
    const turns = seedOf(this.history);
    if (turns.length === 0) return;
    const turnComplete = this.options.family.announcesHistory || endsInTransfer(this.history);
    if (endsInTransfer(this.history)) this.debt.isAsked = true;
    this.send({ clientContent: { turns, turnComplete } });
  }

  private give(given: Given): void {
    if ('content' in given) return this.sendContent(given.content);
    const frame =
      'blob' in given ? frameOfMedia(given.blob) : this.activity.frame(given.activity, this.isBusy);
    if (frame) this.send(frame);
  }

  private sendContent(content: Content): void {
    const responses = (content.parts ?? []).flatMap((part) => part.functionResponse ?? []);
    if (responses.length > 0) return this.answer(responses);
    this.tell(this.messages.complete());
    // What the model had not begun to say when it was interrupted may never have an end of its own.
    if (!this.messages.isBusy) this.pass(this.hush.lift());
    this.hush.asked();
    this.tellNotices(false);
    this.calls.leaveTurn();
    this.debt.said(content, this.messages.isBusy);
    this.send(frameOfContent(content, this.options.family));
  }

  private answer(given: FunctionResponse[]): void {
    const { responses, notices } = this.calls.answer(given, this.isOld);
    this.notices.push(...notices);
    if (responses.length > 0) this.respond(responses);
    this.tellNotices(true);
  }

  private respond(responses: FunctionResponse[]): void {
    const functionResponses = responses.map((response) => responseFor(response, this.options));
    this.debt.gave(functionResponses);
    this.send({ functionResponses });
  }

  /** Results that the session does not know: content interrupts the model, so they wait until it has ended its turn. */
  private tellNotices(turnComplete: boolean): void {
    if (this.notices.length === 0 || !this.isReady || (turnComplete && this.isBusy)) return;
    const notices = this.notices.splice(0);
    const isHeard = turnComplete && notices.some(({ isSilent }) => !isSilent);
    const turn: Content = { role: 'user', parts: notices.map(({ text }) => ({ text })) };
    this.send({ clientContent: { turns: [turn], turnComplete: isHeard } });
    if (isHeard) this.debt.said(turn);
  }

  private resumable({ newHandle, resumable }: LiveServerSessionResumptionUpdate): void {
    // While it is at work the server may say that it cannot be resumed now: from the last handle it still can.
    if (!newHandle) return;
    this.link({ type: 'handle', handle: newHandle });
    if (this.calls.haveOtherIds) return;
    this.tell([
      { liveSessionResumptionUpdate: { newHandle, ...(resumable === undefined ? {} : { resumable }) } },
    ]);
  }

  /** What it was asked may never have arrived, and is said once more; otherwise its turn has ended. */
  private silent(now: number): void {
    const { debt, messages } = this;
    this.silence.moved(now);
    const again = messages.isBusy ? null : debt.toRepeat();
    if (again) return this.send(frameOfContent(again, this.options.family));
    const { isFresh } = debt;
    // What it has made it has said, whether or not it says that this is over.
    const isWhole = messages.isPlaying && !debt.isOpen;
    const isOwed = debt.isAsked && !messages.isCut && !isWhole;
    const errorCode = isFresh ? 'INCOMPLETE' : 'SILENT';
    debt.forgive();
    this.pass(this.hush.liftForAnswer());
    this.tell([
      ...messages.end(),
      ...(isOwed ? [{ errorCode, errorMessage: 'The live model said nothing any more.' }] : []),
      { turnComplete: true },
    ]);
  }

  private send(frame: Frame): void {
    this.out.push({ type: 'send', frame });
  }

  private tell(responses: LlmResponse[]): void {
    for (const response of responses) {
      const { turnComplete, interrupted } = response;
      const { cancelledCalls, wasIdle } = liveFactsOf(response);
      if (turnComplete) this.hush.ended();
      const isEarlier = turnComplete === true && this.debt.endedTurn();
      if (isEarlier || (turnComplete && this.calls.areLatestOpen)) {
        this.calls.leaveTurn();
        this.tellEarlierEnd();
        continue;
      }
      // What was sent caused the interruption: it ends what was said before.
      if (interrupted && this.debt.hasAsked && !cancelledCalls) {
        this.tellEarlierEnd();
        continue;
      }
      this.pass([response]);
      // Who speaks has stopped what they did not want to hear, and is answered: that it is over may not be said.
      if (interrupted && !cancelledCalls) this.pass(this.hush.lift());
      if (!turnComplete || wasIdle) continue;
      this.debt.isAsked = false;
      this.calls.endTurn();
    }
  }

  private tellEarlierEnd(): void {
    this.hush.ended();
    this.pass([{ turnComplete: true, ...withLiveFacts(CONTINUES) }]);
  }

  /** Tells ADK something as it is. */
  private pass(responses: LlmResponse[]): void {
    for (const response of responses) this.out.push({ type: 'tell', response });
  }

  private link(input: LinkInput): void {
    this.out.push({ type: 'link', input });
  }

  private done(): TalkEffect[] {
    this.tellNotices(true);
    const { isBusy } = this;
    if (isBusy !== this.wasBusy) this.link({ type: 'busy', isBusy });
    this.wasBusy = isBusy;
    return this.out.splice(0);
  }
}
