import type { LlmResponse } from '@google/adk';
import type { FunctionCall, GroundingMetadata, Part, Transcription } from '@google/genai';
import { withLiveFacts } from '../../adk/live-facts.ts';
import type { LiveMessage, LiveOutput, LiveTraits } from './provider.ts';

/** The largest text of one turn. No model or user says that much, so `push` throws when a server exceeds it. */
const MAX_CHARACTERS = 1_000_000;
/** How many token counts are kept that arrive between two turns. */
const MAX_COUNTS = 100;
/**
 * A part with one of these fields is output of the model. Parts with calls are not listed, because `push` gets the calls separately. A part with only a
 * signature is no output.
 */
const SAYING = ['text', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult'] as const;
/** The fields of a response for the transcripts of both sides. */
const TRANSCRIPTS = { user: 'inputTranscription', model: 'outputTranscription' } as const;
/** How long the end of a spoken turn is delayed, because its transcripts and token counts may arrive after it. */
const LATE_MS = 300;

/**
 * Turns the output of a live model into responses for ADK. Transcripts and texts are passed on as partial responses, collected,
 * and repeated as a whole when they end. It does no input or output, and reads no clock.
 */
export class TurnOutput {
  private readonly traits: LiveTraits;
  /** Text and thoughts of this turn of which only partial responses were emitted so far. */
  private texts: Part[] = [];
  private readonly transcripts = { user: '', model: '' };
  private grounding: GroundingMetadata | undefined;
  /** Token counts that arrived between two turns. They are reported with the next turn. */
  private usage: LlmResponse[] = [];
  private hasSpoken = false;
  /** The end of a turn that is delayed until `at`. */
  private closing: { at: number; response: LlmResponse } | null = null;
  private isGenerating = false;
  /** Whether the model has said or called something since it last ended a turn. */
  private isInTurn = false;
  private playing = false;
  private cut = false;

  constructor(traits: LiveTraits) {
    this.traits = traits;
  }

  /** Whether the model is in the middle of a turn. */
  get isBusy(): boolean {
    return this.isGenerating || this.closing !== null;
  }

  /** Whether the end of a turn is delayed: words that arrive now may still belong to that turn. */
  get isClosing(): boolean {
    return this.closing !== null;
  }

  /** Whether the model has generated its whole turn, and only its audio is still playing. */
  get isPlaying(): boolean {
    return this.playing;
  }

  /** Whether the model was interrupted in the middle of a turn, and has not ended it. */
  get isCut(): boolean {
    return this.cut;
  }

  /** When to call `complete`, if nothing is pushed before; null: never. */
  get wakesAt(): number | null {
    return this.closing?.at ?? null;
  }

  /**
   * Handles a message. `calls`: the calls in it that are not repetitions. `cancelled`: ids of calls whose results are no longer wanted. Throws
   * when the turn exceeds `MAX_CHARACTERS`.
   */
  push(message: LiveMessage, now: number, calls: FunctionCall[], cancelled: string[] = []): LlmResponse[] {
    const out: LlmResponse[] = [];
    if (message.usage) this.count({ usageMetadata: message.usage }, out);
    if (message.output) this.pushOutput(message.output, now, out);
    if (this.characters > MAX_CHARACTERS)
      throw new Error(`The live model sent a turn of more than ${MAX_CHARACTERS} characters.`);
    if (calls.length > 0) {
      out.push(...this.complete(), ...this.usage.splice(0), ...this.flush());
      // The model usually waits for the responses now. If it continues, its next output sets this again.
      this.isGenerating = false;
      this.isInTurn = true;
      this.playing = false;
      this.cut = false;
      out.push({ content: { role: 'model', parts: calls.map((functionCall) => ({ functionCall })) } });
    }
    if (cancelled.length > 0) {
      out.push({ interrupted: true, ...withLiveFacts({ cancelledCalls: cancelled }) });
    }
    return this.named(out);
  }

  /** Returns the delayed end of a turn, if its delay is over; without `now`, in any case. */
  complete(now = Number.POSITIVE_INFINITY): LlmResponse[] {
    const { closing } = this;
    if (!closing || now < closing.at) return [];
    this.closing = null;
    this.hasSpoken = false;
    return this.named([...this.flush(), closing.response]);
  }

  /** Ends the turn in place of the model. Returns final responses for all text and transcripts of which only partial responses were emitted. */
  end(): LlmResponse[] {
    this.isGenerating = false;
    this.isInTurn = false;
    this.playing = false;
    this.cut = false;
    return [...this.complete(), ...this.named([...this.usage.splice(0), ...this.flush()])];
  }

  private get characters(): number {
    let count = this.transcripts.user.length + this.transcripts.model.length;
    for (const { text = '' } of this.texts) count += text.length;
    return count;
  }

  private named(responses: LlmResponse[]): LlmResponse[] {
    return responses.map((response) => ({ modelVersion: this.traits.modelVersion, ...response }));
  }

  private count(response: LlmResponse, out: LlmResponse[]): void {
    if (this.isBusy) out.push(response);
    else if (this.usage.push(response) > MAX_COUNTS) this.usage.shift();
  }

  private pushOutput(output: LiveOutput, now: number, out: LlmResponse[]): void {
    const { grounding, userTranscript, modelTranscript: words, isInterrupted, turnEnd } = output;
    if (grounding) this.grounding = grounding;
    if (userTranscript) this.pushUserTranscript(userTranscript, out);
    const parts = (output.parts ?? []).filter((part) => SAYING.some((field) => part[field]));
    if (parts.length > 0 || words?.text) this.begin(out);
    if (output.isGenerated) this.playing = this.isGenerating;
    this.pushParts(parts, out);
    if (words?.text) {
      this.hasSpoken = true;
      out.push(...this.flushTranscript('user'));
      this.transcripts.model += words.text;
      out.push({ outputTranscription: { text: words.text, finished: false }, partial: true });
    }
    if (words?.finished) {
      out.push(...this.flushTranscript('model'));
      this.hasSpoken = false;
    }
    if (isInterrupted) this.interrupt(turnEnd !== undefined, out);
    else if (turnEnd) this.endTurn(turnEnd, now, out);
  }

  private pushUserTranscript({ text, finished }: Transcription, out: LlmResponse[]): void {
    const { wholeUtterances } = this.traits;
    if (text) {
      // The user said this after the turn whose end is delayed, so emit that end first.
      out.push(...this.complete());
      this.transcripts.user += text;
      if (!wholeUtterances) out.push({ inputTranscription: { text, finished: false }, partial: true });
    }
    if (finished || wholeUtterances) out.push(...this.flushTranscript('user'));
  }

  /** Records that the model speaks, which starts a turn if none is in progress. Token counts that came between two turns belong to this turn. */
  private begin(out: LlmResponse[]): void {
    if (this.closing) return;
    this.isGenerating = true;
    this.isInTurn = true;
    this.cut = false;
    out.push(...this.usage.splice(0));
  }

  private interrupt(isEnd: boolean, out: LlmResponse[]): void {
    const ends = isEnd || this.closing !== null;
    this.isInTurn &&= !ends;
    this.cut = this.isInTurn;
    this.isGenerating = false;
    this.playing = false;
    this.closing = null;
    this.hasSpoken = false;
    out.push(...this.usage.splice(0), ...this.flush(), {
      ...(ends ? { turnComplete: true } : {}),
      interrupted: true,
      ...this.takeGrounding(),
    });
  }

  private endTurn(
    { continues, error }: NonNullable<LiveOutput['turnEnd']>,
    now: number,
    out: LlmResponse[],
  ): void {
    this.playing = false;
    this.cut = false;
    if (continues) {
      out.push(...this.flush());
      this.isGenerating = true;
      return;
    }
    this.isGenerating = false;
    this.isInTurn = false;
    const { hasSpoken } = this;
    // If the end of an earlier turn is still delayed, this end belongs to a later turn: emit the earlier end first.
    out.push(
      ...this.complete(),
      ...this.usage.splice(0),
      ...this.flushTranscript('user'),
      ...this.flushTexts(),
    );
    this.hasSpoken = hasSpoken;
    if (error)
      out.push({ errorCode: error, errorMessage: `The live model ended its turn with the reason ${error}.` });
    const response: LlmResponse = { turnComplete: true, ...this.takeGrounding() };
    this.closing = { at: now + (hasSpoken ? LATE_MS : 0), response };
    out.push(...this.complete(now));
  }

  private pushParts(parts: Part[], out: LlmResponse[]): void {
    const { transcribesOutput } = this.traits;
    for (const part of parts) {
      if (part.text) {
        const isThought = part.thought === true || transcribesOutput;
        appendText(this.texts, part.text, isThought);
        const text: Part = { text: part.text, ...(isThought ? { thought: true } : {}) };
        out.push({ content: { role: 'model', parts: [text] }, partial: true });
        continue;
      }
      // Sound accompanies the text. Every other part comes after the text before it, so emit that text first.
      if (!part.inlineData) out.push(...this.flushTexts());
      else this.hasSpoken ||= transcribesOutput;
      out.push({ content: { role: 'model', parts: [part] } });
    }
  }

  private flush(): LlmResponse[] {
    return [...this.flushTranscript('user'), ...this.flushTranscript('model'), ...this.flushTexts()];
  }

  private flushTexts(): LlmResponse[] {
    if (this.texts.length === 0) return [];
    const parts = this.texts;
    this.texts = [];
    return [{ content: { role: 'model', parts }, partial: false, ...this.takeGrounding() }];
  }

  private flushTranscript(side: keyof typeof TRANSCRIPTS): LlmResponse[] {
    const text = this.transcripts[side];
    if (!text) return [];
    this.transcripts[side] = '';
    return [{ [TRANSCRIPTS[side]]: { text, finished: true }, partial: false }];
  }

  private takeGrounding(): { groundingMetadata?: GroundingMetadata } {
    const { grounding } = this;
    this.grounding = undefined;
    return grounding ? { groundingMetadata: grounding } : {};
  }
}

/** Appends a text to the last part if both are thoughts, or both are not; otherwise adds a part. */
export function appendText(parts: Part[], text: string, thought: boolean): void {
  const last = parts.at(-1);
  if (last && (last.thought ?? false) === thought) last.text += text;
  else parts.push(thought ? { text, thought } : { text });
}
