import type { Blob, Content, FunctionResponse } from '@google/genai';
import type { LiveMessage, LiveTraits } from './provider.ts';

/** Input of ADK or of the user, before it is encoded. */
export type UserInput = { content: Content } | { blob: Blob } | { activity: 'start' | 'end' };

/** How many pieces of sound and pictures are kept while there is no socket: two seconds of sound in pieces of 20 ms. */
const MAX_MEDIA = 100;

/** Input that arrives while there is no socket, in order. */
export class OfflineInput {
  private inputs: UserInput[] = [];

  /** Whether the input contains a message or a response to a call, which the model has to react to. */
  get hasContent(): boolean {
    return this.inputs.some((input) => 'content' in input);
  }

  /** Adds an input. Only the newest sound and pictures are kept. */
  add(input: UserInput): void {
    this.inputs.push(input);
    const media = this.inputs.filter((one) => 'blob' in one);
    if (media.length > MAX_MEDIA) this.inputs = this.inputs.filter((one) => one !== media[0]);
  }

  /** Removes and returns everything. */
  drain(): UserInput[] {
    return this.inputs.splice(0);
  }
}

/**
 * Tracks input that was sent to the model and that the model has not reacted to: the last message, and responses to calls. `LiveSession` asks it what to
 * send again after a lost socket, and whether a silent model still has to answer.
 */
export class PendingInput {
  private readonly repliesTo: LiveTraits['repliesTo'];
  private message: { content: Content; isRepeated: boolean } | null = null;
  private responses: { response: FunctionResponse; isRepeated: boolean }[] = [];
  private isExpected = false;
  private isFresh = false;
  /** Whether the model has started a turn and not ended it. */
  private isInTurn = false;
  /** Whether input was sent in the middle of a turn. The next end of a turn ends that earlier turn, and not the answer to the input. */
  private endsEarlier = false;
  /** Whether the message interrupts the model. Output that the server sent before it got the message is no reaction to the message. */
  private isInterrupting = false;

  constructor({ repliesTo }: Pick<LiveTraits, 'repliesTo'>) {
    this.repliesTo = repliesTo;
  }

  /** Whether the model has yet to react to a message, or to a response to a call. */
  get isOpen(): boolean {
    return this.hasMessage || this.responses.some(({ response }) => this.repliesTo(response));
  }

  /** Whether the model has yet to react to a message. */
  get hasMessage(): boolean {
    return this.message !== null;
  }

  /** Whether the model got input to answer since it last completed a turn. */
  get expectsAnswer(): boolean {
    return this.isExpected;
  }

  /** Whether the session was resumed while the model was busy, and the provider has sent nothing since. */
  get isJustResumed(): boolean {
    return this.isFresh;
  }

  /** Records that a message was sent. `isInterrupting`: the model is speaking. */
  addMessage(content: Content, isInterrupting = false): void {
    this.message = { content, isRepeated: false };
    this.isInterrupting = isInterrupting;
    this.expectAnswer();
    this.endsEarlier = this.isInTurn;
  }

  /** Records that responses to calls were sent. */
  addResponses(responses: readonly FunctionResponse[]): void {
    for (const response of responses) this.responses.push({ response, isRepeated: false });
    this.expectAnswer();
    this.endsEarlier = this.isInTurn;
  }

  /** Records that the model got input to answer, such as speech. */
  expectAnswer(): void {
    this.isExpected = true;
  }

  /** Records that the model cancelled these calls: `resume` does not repeat their responses. */
  cancel(ids: readonly string[]): void {
    for (const one of this.responses) if (ids.includes(one.response.id ?? '')) one.isRepeated = true;
  }

  /** Call it when the session continues over another socket. Returns the responses to send again; each is repeated only once. */
  resume(isBusy: boolean): FunctionResponse[] {
    this.isFresh = isBusy;
    this.isInterrupting = false;
    const repeated = this.responses.filter(({ isRepeated }) => !isRepeated);
    for (const one of repeated) one.isRepeated = true;
    return repeated.map(({ response }) => response);
  }

  /** Handles a message of the provider. `isClosing`: the model just ended a turn, and the last words of that turn may still follow. */
  observe({ output, calls }: LiveMessage, isClosing: boolean): void {
    if (!output && !calls) return;
    this.isFresh = false;
    const { parts, modelTranscript, turnEnd, isInterrupted } = output ?? {};
    const words = isClosing && this.hasMessage ? '' : modelTranscript?.text;
    const says = Boolean(calls || parts?.length || words);
    if (says) this.isInTurn = true;
    if (output?.userTranscript) this.expectAnswer();
    if (this.isInterrupting) {
      if (!isInterrupted && !turnEnd) return;
      // The model stopped its output, or had ended its turn before it got the message. The answer to the message is still to come.
      this.isInterrupting = false;
      this.endsEarlier = !turnEnd;
      return;
    }
    // The message caused this interruption. The answer to the message is still to come.
    if (isInterrupted && !says) return;
    if (says || (turnEnd && !this.endsEarlier)) this.acknowledge();
  }

  /** Call it when the model ended a turn. Returns whether that was an earlier turn, so that the answer to pending input is still to come. */
  endTurn(): boolean {
    this.isInTurn = false;
    if (!this.isOpen) return false;
    this.endsEarlier = false;
    return true;
  }

  /** Call it when the model ended its turn and has nothing left to answer. */
  completeTurn(): void {
    this.isExpected = false;
  }

  /** Returns the message if it may have been lost with a socket and was not yet sent again; otherwise null. The caller sends it again. */
  takeRepeat(): Content | null {
    const { message } = this;
    if (!this.isFresh || !message || message.isRepeated) return null;
    message.isRepeated = true;
    return message.content;
  }

  /** Stops waiting for a reaction of the model. */
  clear(): void {
    this.acknowledge();
    this.isInterrupting = false;
    this.isFresh = false;
  }

  private acknowledge(): void {
    this.message = null;
    this.responses = [];
    this.endsEarlier = false;
  }
}
