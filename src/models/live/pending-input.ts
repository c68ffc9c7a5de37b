import type { Content, FunctionResponse, LiveServerMessage } from '@google/genai';
import { isSpokenOf } from '../gemini/frames.ts';

/** A response that the server may not have got. */
interface Unconfirmed {
  response: FunctionResponse;
  isRepeated: boolean;
}

/** What a live model owes: it was asked something, or given a result, and has not reacted. */
export class GeminiDebt {
  private owed: { content: Content; isRepeated: boolean } | null = null;
  private unconfirmed: Unconfirmed[] = [];
  /** Whether the model was asked something since it ended its turn. */
  isAsked = false;
  /** Whether the session was taken up again and nothing came since. */
  isFresh = false;
  /** Whether the model has begun a turn and not ended it. */
  private isInTurn = false;
  /** Whether something was sent in the middle of a turn: the end of that turn is not the end of the answer. */
  private endsEarlier = false;
  /** Whether the model was interrupted by what was said: what was on its way then is no reaction to it. */
  private isCutting = false;

  /** Whether the model has yet to react to what it was sent. */
  get isOpen(): boolean {
    return this.hasAsked || this.unconfirmed.some(({ response }) => isSpokenOf(response));
  }

  /** Whether it has yet to react to words. */
  get hasAsked(): boolean {
    return this.owed !== null;
  }

  /** The model is told something. `isCutting`: while it speaks. */
  said(content: Content, isCutting = false): void {
    this.owed = { content, isRepeated: false };
    this.isCutting = isCutting;
    this.asked();
  }

  /** The model is given results. */
  gave(responses: readonly FunctionResponse[]): void {
    for (const response of responses) this.unconfirmed.push({ response, isRepeated: false });
    this.asked();
  }

  /** The model takes calls back: results of theirs that it may not have got are not sent once more. */
  cancelled(ids: readonly string[]): void {
    for (const one of this.unconfirmed) if (ids.includes(one.response.id ?? '')) one.isRepeated = true;
  }

  /** The session goes on over another socket: returns the results to send once more. */
  resumed(isBusy: boolean): FunctionResponse[] {
    this.isFresh = isBusy;
    this.isCutting = false;
    const repeated = this.unconfirmed.filter(({ isRepeated }) => !isRepeated);
    for (const one of repeated) one.isRepeated = true;
    return repeated.map(({ response }) => response);
  }

  /**
   * The server says something: it reacts to what it was sent, or not yet. `isClosing`: it has just ended a turn, and its last
   * words may follow.
   */
  heard({ serverContent, toolCall }: LiveServerMessage, isClosing: boolean): void {
    if (!serverContent && !toolCall) return;
    this.isFresh = false;
    const { modelTurn, outputTranscription, turnComplete, interrupted } = serverContent ?? {};
    const words = isClosing && this.hasAsked ? '' : outputTranscription?.text;
    const says = Boolean(toolCall || modelTurn?.parts?.length || words);
    if (says) this.isInTurn = true;
    if (serverContent?.inputTranscription) this.isAsked = true;
    if (this.isCutting) {
      if (!interrupted && !turnComplete) return;
      // It has stopped, or had ended before it heard. The answer is still to come.
      this.isCutting = false;
      this.endsEarlier = !turnComplete;
      return;
    }
    // An interruption is a reaction to what was sent: the answer is still to come.
    if (interrupted && !says) return;
    if (says || (turnComplete && !this.endsEarlier)) this.settle();
  }

  /** The model has ended a turn. Whether that was an earlier one, and what it owes follows. */
  endedTurn(): boolean {
    this.isInTurn = false;
    if (!this.isOpen) return false;
    this.endsEarlier = false;
    return true;
  }

  /** What may never have arrived and is to be said once more; null when there is no such thing. */
  toRepeat(): Content | null {
    const { owed } = this;
    if (!this.isFresh || !owed || owed.isRepeated) return null;
    owed.isRepeated = true;
    return owed.content;
  }

  /** Nothing is waited for any more. */
  forgive(): void {
    this.settle();
    this.isCutting = false;
    this.isFresh = false;
  }

  private settle(): void {
    this.owed = null;
    this.unconfirmed = [];
    this.endsEarlier = false;
  }

  private asked(): void {
    this.isAsked = true;
    this.endsEarlier = this.isInTurn;
  }
}
