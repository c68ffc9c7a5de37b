import type { LlmResponse } from '@google/adk';
import type { Content, FunctionResponse } from '@google/genai';
import { liveFactsOf, withLiveFacts } from '../../adk/live-facts.ts';
import { LiveCalls } from './calls.ts';
import { endsInTransfer, seedOf } from './history.ts';
import type { LinkInput } from './link.ts';
import { OfflineInput, PendingInput, type UserInput } from './pending-input.ts';
import type { LiveInput, LiveMessage, LiveTraits } from './provider.ts';
import { Mute, SilenceTimeout } from './silence.ts';
import { TurnOutput } from './turn-output.ts';

/** The effects that the connection has to perform: send an input, pass a response to ADK, or pass an input to `LiveLink`. */
export type SessionEffect =
  | { type: 'send'; input: LiveInput }
  | { type: 'emit'; response: LlmResponse }
  | { type: 'link'; input: LinkInput };

/** The facts for a `turnComplete` that ends only earlier output, or a turn whose calls are open. The model continues after it. */
const CONTINUES = { continues: true, wasIdle: true };
/** The error of a turn that the session ended because the model was silent. */
const NO_ANSWER =
  'The live model was silent for too long and did not complete its answer, so its turn was ended.';
/** Tells ADK that this session cannot be resumed, so that its next connection starts a new one. */
const NOT_RESUMABLE: LlmResponse = { liveSessionResumptionUpdate: { resumable: false } };

/**
 * One live session over many sockets, in both directions. It owns the calls, the pending input, the current turn and the mute state, and decides
 * which responses ADK gets. It does no input or output, and reads no clock.
 */
export class LiveSession {
  private readonly calls = new LiveCalls();
  private readonly pending: PendingInput;
  private readonly turn: TurnOutput;
  private readonly silence: SilenceTimeout;
  private readonly offline = new OfflineInput();
  private readonly mute = new Mute();
  private readonly newCallId: () => string;
  private history: readonly Content[];
  private isReady = false;
  private hasBegun = false;
  /** Whether an earlier connection started the session. */
  private isOld = false;
  /** Results of calls that the session does not know, as texts. They wait until the model is idle. */
  private notices: { text: string; isSilent: boolean }[] = [];
  private wasBusy = false;
  private out: SessionEffect[] = [];

  /** `history`: the conversation that a new session gets. `newCallId`: returns an id for a call that comes without one. */
  constructor(traits: LiveTraits, history: readonly Content[], newCallId: () => string) {
    this.history = history;
    this.newCallId = newCallId;
    this.pending = new PendingInput(traits);
    this.turn = new TurnOutput(traits);
    this.silence = new SilenceTimeout(this.turn, this.calls, this.pending, traits);
  }

  /** Whether the model is in the middle of a turn, or has to react to input. */
  get isBusy(): boolean {
    return this.turn.isBusy || this.pending.isOpen || this.offline.hasContent;
  }

  /** When to call `advance`, if nothing happens before; null: never. */
  get wakesAt(): number | null {
    const { wakesAt } = this.turn;
    const { expiresAt } = this;
    if (wakesAt === null) return expiresAt;
    return expiresAt === null ? wakesAt : Math.min(wakesAt, expiresAt);
  }

  /** Replaces the history that a new session gets. */
  setHistory(history: readonly Content[]): void {
    this.history = history;
  }

  /** Call it when a socket is open. `isResumed`: the session continues; otherwise it is new. */
  socketOpened(isResumed: boolean, now: number): SessionEffect[] {
    const isFirst = !this.hasBegun;
    this.hasBegun = true;
    this.isReady = true;
    this.silence.restart(now);
    // Output that was interrupted over the lost socket may get no `turnComplete` over this one: emit it here.
    this.emit(this.mute.releaseForAnswer());
    if (isResumed) {
      if (isFirst) {
        this.isOld = true;
        this.calls.addHistory(this.history, true);
      }
      for (const response of this.pending.resume(this.isBusy))
        this.send({ type: 'responses', responses: [response] });
    } else this.sendHistory();
    for (const input of this.offline.drain()) this.sendInput(input);
    return this.done();
  }

  /** Call it when the socket is lost. Another socket may follow. */
  socketLost(): SessionEffect[] {
    this.isReady = false;
    return this.done();
  }

  /** Adds input for the model. It is sent at once, or when there is a socket again; of sound and pictures only the newest wait for a socket. */
  add(input: UserInput, now: number): SessionEffect[] {
    if ('content' in input) this.silence.restart(now);
    if ('activity' in input && input.activity === 'start') {
      this.mute.start();
      // After an interruption, Duologue's server discards model output until it gets a `turnComplete`. The model is idle and will send none: emit it here.
      if (!this.isBusy) this.emit(this.mute.release());
    }
    if (this.isReady) this.sendInput(input);
    else this.offline.add(input);
    return this.done();
  }

  /** Handles a message of the provider. Throws when the message exceeds a limit, such as the number of open calls. */
  receive(message: LiveMessage, now: number): SessionEffect[] {
    const { turn, pending } = this;
    const { output, resumption, goAwayMs } = message;
    this.silence.restart(now);
    // The end of a spoken turn is delayed, because its transcripts may arrive after it. Calls or parts that arrive while input is unanswered belong to the
    // next turn, so emit the delayed end first.
    if ((message.calls || output?.parts?.length) && pending.isOpen) this.deliver(turn.complete());
    pending.observe(message, turn.isClosing);
    // The model answers the user's speech in a turn of its own, even while calls of the turn before are open.
    if (output?.userTranscript?.text) this.calls.leaveTurn();
    const calls = (message.calls ?? []).map((call) => ({ ...call, id: call.id || this.newCallId() }));
    const { fresh, responses } = this.calls.add(calls);
    const cancelled = message.cancelledCalls ?? [];
    const unwanted = this.calls.cancel(cancelled);
    pending.cancel(cancelled);
    this.deliver(turn.push(message, now, fresh, unwanted));
    if (cancelled.length > 0 && this.calls.haveOtherIds) this.deliver([NOT_RESUMABLE]);
    if (resumption) this.setResumption(resumption);
    if (goAwayMs !== undefined) this.link({ type: 'goAway', inMs: goAwayMs });
    this.sendResponses(responses.filter(({ id = '' }) => !cancelled.includes(id)));
    return this.done();
  }

  /** Checks the timeouts. `isReading`: the socket is not paused. While it is paused, silence does not mean that the provider has sent nothing. */
  advance(now: number, isReading = true): SessionEffect[] {
    if (!isReading) this.silence.restart(now);
    this.deliver(this.turn.complete(now));
    const { expiresAt } = this;
    if (expiresAt !== null && now >= expiresAt) this.endSilence(now);
    return this.done();
  }

  /** Call it when the connection is over. Returns the final responses for text and transcripts of which only partial responses were emitted. */
  end(): SessionEffect[] {
    this.isReady = false;
    this.deliver(this.turn.end());
    return this.out.splice(0);
  }

  private get expiresAt(): number | null {
    return this.isReady ? this.silence.expiresAt : null;
  }

  /** Sends the history to a new session. The model answers it only after a transfer from another agent. */
  private sendHistory(): void {
    this.calls.addHistory(this.history, false);
    const turns = seedOf(this.history);
    if (turns.length === 0) return;
    const startsTurn = endsInTransfer(this.history);
    if (startsTurn) this.pending.expectAnswer();
    this.send({ type: 'history', turns, startsTurn });
  }

  private sendInput(input: UserInput): void {
    if ('content' in input) return this.sendContent(input.content);
    if ('blob' in input) return this.send({ type: 'media', blob: input.blob });
    this.send({ type: 'activity', activity: input.activity, isBusy: this.isBusy });
  }

  private sendContent(content: Content): void {
    const given = (content.parts ?? []).flatMap((part) => part.functionResponse ?? []);
    if (given.length > 0) {
      const { responses, notices } = this.calls.answer(given, this.isOld);
      this.notices.push(...notices);
      this.sendResponses(responses);
      return this.sendNotices(true);
    }
    this.deliver(this.turn.complete());
    // The user interrupted before the model started to answer. The model may never send a `turnComplete` for that, so emit it here.
    if (!this.turn.isBusy) this.emit(this.mute.release());
    this.mute.expectAnswer();
    this.sendNotices(false);
    this.calls.leaveTurn();
    this.pending.addMessage(content, this.turn.isBusy);
    this.send({ type: 'message', content });
  }

  private sendResponses(responses: FunctionResponse[]): void {
    if (responses.length === 0) return;
    this.pending.addResponses(responses);
    this.send({ type: 'responses', responses });
  }

  /** Sends the results of calls that the session does not know. A note with `startsTurn` interrupts the model, so it is sent only while the model is idle. */
  private sendNotices(startsTurn: boolean): void {
    if (this.notices.length === 0 || !this.isReady || (startsTurn && this.isBusy)) return;
    const notices = this.notices.splice(0);
    const isAnswered = startsTurn && notices.some(({ isSilent }) => !isSilent);
    const content: Content = { role: 'user', parts: notices.map(({ text }) => ({ text })) };
    this.send({ type: 'note', content, startsTurn: isAnswered });
    if (isAnswered) this.pending.addMessage(content);
  }

  private setResumption({ handle, resumable }: NonNullable<LiveMessage['resumption']>): void {
    this.link({ type: 'handle', handle });
    if (this.calls.haveOtherIds) return;
    const update = { newHandle: handle, ...(resumable === undefined ? {} : { resumable }) };
    this.deliver([{ liveSessionResumptionUpdate: update }]);
  }

  /** Handles a model that was silent for too long: sends the message again if it may have been lost with a socket, otherwise ends the turn. */
  private endSilence(now: number): void {
    const { pending, turn } = this;
    this.silence.restart(now);
    const repeat = turn.isBusy ? null : pending.takeRepeat();
    if (repeat) return this.send({ type: 'message', content: repeat });
    const errorCode = pending.isJustResumed ? 'INCOMPLETE' : 'SILENT';
    // Fully generated output is complete, even if the model never sends `turnComplete`.
    const isWhole = turn.isPlaying && !pending.isOpen;
    const isMissing = pending.expectsAnswer && !turn.isCut && !isWhole;
    pending.clear();
    this.emit(this.mute.releaseForAnswer());
    this.deliver([
      ...turn.end(),
      ...(isMissing ? [{ errorCode, errorMessage: NO_ANSWER }] : []),
      { turnComplete: true },
    ]);
  }

  /** Emits responses. For each `turnComplete` it decides whether the answer is complete, or whether only earlier output ended. */
  private deliver(responses: LlmResponse[]): void {
    for (const response of responses) {
      const { turnComplete } = response;
      const { cancelledCalls, wasIdle } = liveFactsOf(response);
      const isInterrupted = response.interrupted === true && !cancelledCalls;
      if (turnComplete) this.mute.end();
      const isEarlier = turnComplete === true && this.pending.endTurn();
      if (isEarlier || (turnComplete && this.calls.areLatestOpen)) {
        this.calls.leaveTurn();
        this.emitEarlierEnd();
        continue;
      }
      // The pending message interrupted the earlier output: end that output, and keep waiting for the answer to the message.
      if (isInterrupted && this.pending.hasMessage) {
        this.emitEarlierEnd();
        continue;
      }
      this.emit([response]);
      // The user interrupted by speaking, and the model will answer. It may never send a `turnComplete` for the interrupted output.
      if (isInterrupted) this.emit(this.mute.release());
      if (!turnComplete || wasIdle) continue;
      this.pending.completeTurn();
      this.calls.endTurn();
    }
  }

  private emitEarlierEnd(): void {
    this.mute.end();
    this.emit([{ turnComplete: true, ...withLiveFacts(CONTINUES) }]);
  }

  private emit(responses: LlmResponse[]): void {
    for (const response of responses) this.out.push({ type: 'emit', response });
  }

  private send(input: LiveInput): void {
    this.out.push({ type: 'send', input });
  }

  private link(input: LinkInput): void {
    this.out.push({ type: 'link', input });
  }

  private done(): SessionEffect[] {
    this.sendNotices(true);
    const { isBusy } = this;
    if (isBusy !== this.wasBusy) this.link({ type: 'busy', isBusy });
    this.wasBusy = isBusy;
    return this.out.splice(0);
  }
}
