import type { LlmResponse } from '@google/adk';
import type {
  FunctionCall,
  GroundingMetadata,
  LiveServerContent,
  LiveServerMessage,
  Part,
  UsageMetadata,
} from '@google/genai';
import { withLiveFacts } from '../../adk/live-facts.ts';
import type { LiveFamily } from '../gemini/families.ts';
import { usageOf } from '../gemini/usage.ts';

/** What is known of a session when it is read. */
export interface ReadingOptions {
  modelVersion: string;
  family: LiveFamily;
  /** Whether the model speaks and its words come as transcripts: a text beside them is a thought, and never spoken. */
  isSpoken: boolean;
}

/** More than a model can say, or a person, in one turn. */
const MOST_WORDS = 1_000_000;
/** Counts that come when no turn is open. */
const MOST_COUNTS = 100;
/** What a part can say. A call is made apart, and a signature alone says nothing. */
const SAID = ['text', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult'] as const;
/** How long the end of a spoken turn waits: transcripts and counts may come behind it. */
const LATE_MS = 300;

/**
 * Turns the messages of Gemini's live server into responses for ADK: push each message and the time, and `end` when the
 * connection does.
 */
export class GeminiMessages {
  private readonly options: ReadingOptions;
  /** Text and thoughts said in this turn and not yet told as a whole. */
  private said: Part[] = [];
  private heard = '';
  private spoken = '';
  private grounding: GroundingMetadata | undefined;
  /** Counts that came when no turn was open: they are told with the next. */
  private usage: LlmResponse[] = [];
  private hasSpoken = false;
  /** The end of a turn that is still waited with. */
  private closing: { at: number; response: LlmResponse } | null = null;
  private isGenerating = false;
  /** Whether it has said or called something since it last ended a turn. */
  private isInTurn = false;
  /** Whether the model has made all of its turn, and only waits until that is played. */
  isPlaying = false;
  /** Whether it was interrupted in the middle of a turn, and has not said that this is over. */
  isCut = false;

  constructor(options: ReadingOptions) {
    this.options = options;
  }

  /** Whether the model is in the middle of a turn. */
  get isBusy(): boolean {
    return this.isGenerating || this.closing !== null;
  }

  /** Whether the end of a turn is still waited with: words that come now may be the last of it. */
  get isClosing(): boolean {
    return this.closing !== null;
  }

  /** When to come back, if nothing is pushed. */
  get wakesAt(): number | null {
    return this.closing?.at ?? null;
  }

  /** `calls`: the calls of the message that are to be made. `unwanted`: those that are to be made no more. */
  push(
    message: LiveServerMessage,
    now: number,
    calls: FunctionCall[],
    unwanted: string[] = [],
  ): LlmResponse[] {
    const out: LlmResponse[] = [];
    if (message.usageMetadata) this.count(message.usageMetadata, out);
    if (message.serverContent) this.pushContent(message.serverContent, now, out);
    if (this.words > MOST_WORDS) throw new Error('The live model says more than anybody can hear.');
    if (calls.length > 0) {
      out.push(...this.complete(), ...this.usage.splice(0), ...this.flush());
      // The model waits for the responses, or says by itself that it goes on.
      this.isGenerating = false;
      this.isInTurn = true;
      this.isPlaying = false;
      this.isCut = false;
      out.push({ content: { role: 'model', parts: calls.map((functionCall) => ({ functionCall })) } });
    }
    if (unwanted.length > 0) {
      out.push({ interrupted: true, ...withLiveFacts({ cancelledCalls: unwanted }) });
    }
    return this.named(out);
  }

  /** The end of a turn that was waited with, when nothing may follow any more. */
  complete(now = Number.POSITIVE_INFINITY): LlmResponse[] {
    const { closing } = this;
    if (!closing || now < closing.at) return [];
    this.closing = null;
    this.hasSpoken = false;
    return this.named([...this.flush(), closing.response]);
  }

  /** What was said or heard and not yet told as a whole. */
  end(): LlmResponse[] {
    this.isGenerating = false;
    this.isInTurn = false;
    this.isPlaying = false;
    this.isCut = false;
    return [...this.complete(), ...this.named([...this.usage.splice(0), ...this.flush()])];
  }

  /** How long what was said and heard is, and not yet told as a whole. */
  private get words(): number {
    let count = this.heard.length + this.spoken.length;
    for (const { text = '' } of this.said) count += text.length;
    return count;
  }

  private named(responses: LlmResponse[]): LlmResponse[] {
    return responses.map((response) => ({ modelVersion: this.options.modelVersion, ...response }));
  }

  private count(usage: UsageMetadata, out: LlmResponse[]): void {
    const response = { usageMetadata: usageOf(usage) };
    if (this.isBusy) out.push(response);
    else if (this.usage.push(response) > MOST_COUNTS) this.usage.shift();
  }

  private pushContent(content: LiveServerContent, now: number, out: LlmResponse[]): void {
    if (content.groundingMetadata) this.grounding = content.groundingMetadata;
    this.hear(content, out);
    const parts = (content.modelTurn?.parts ?? []).filter((part) => SAID.some((kind) => part[kind]));
    const { outputTranscription: output, interrupted, turnComplete } = content;
    if (parts.length > 0 || output?.text) this.begin(out);
    if (content.generationComplete) this.isPlaying = this.isGenerating;
    this.pushParts(parts, out);
    if (output?.text) {
      this.hasSpoken = true;
      out.push(...this.flushHeard());
      this.spoken += output.text;
      out.push({ outputTranscription: { text: output.text, finished: false }, partial: true });
    }
    if (output?.finished) {
      out.push(...this.flushSpoken());
      this.hasSpoken = false;
    }
    if (interrupted) this.interrupt(turnComplete === true, out);
    else if (turnComplete) this.completeTurn(content, now, out);
  }

  private hear({ inputTranscription: input }: LiveServerContent, out: LlmResponse[]): void {
    if (input?.text) {
      // Whatever is heard now was said after the turn that is being closed.
      out.push(...this.complete());
      this.heard += input.text;
      if (!this.options.family.hearsWholeUtterances) {
        out.push({ inputTranscription: { text: input.text, finished: false }, partial: true });
      }
    }
    if (input?.finished || this.options.family.hearsWholeUtterances) out.push(...this.flushHeard());
  }

  /** The model says something: what came between two turns belongs to this one. */
  private begin(out: LlmResponse[]): void {
    if (this.closing) return;
    this.isGenerating = true;
    this.isInTurn = true;
    this.isCut = false;
    out.push(...this.usage.splice(0));
  }

  private interrupt(turnComplete: boolean, out: LlmResponse[]): void {
    const ends = turnComplete || this.closing !== null;
    this.isInTurn &&= !ends;
    this.isCut = this.isInTurn;
    this.isGenerating = false;
    this.isPlaying = false;
    this.closing = null;
    this.hasSpoken = false;
    out.push(...this.usage.splice(0), ...this.flush(), {
      ...(ends ? { turnComplete: true } : {}),
      interrupted: true,
      ...this.takeGrounding(),
    });
  }

  private completeTurn(content: LiveServerContent, now: number, out: LlmResponse[]): void {
    const { turnCompleteReason: reason, interactionStatus, waitingForInput } = content;
    this.isPlaying = false;
    this.isCut = false;
    const goesOn = this.options.family.saysWhenIdle && interactionStatus === 'IN_PROGRESS';
    if (goesOn) {
      out.push(...this.flush());
      this.isGenerating = true;
      return;
    }
    this.isGenerating = false;
    this.isInTurn = false;
    const { hasSpoken } = this;
    // A second end is that of another turn: what came between them was no late part of the first.
    out.push(...this.complete(), ...this.usage.splice(0), ...this.flushHeard(), ...this.flushSaid());
    this.hasSpoken = hasSpoken;
    if (reason && reason !== 'TURN_COMPLETE_REASON_UNSPECIFIED' && reason !== 'NEED_MORE_INPUT') {
      out.push({ errorCode: reason, errorMessage: 'The live model gave no other reason.' });
    }
    const status = {
      ...(interactionStatus ? { interactionStatus } : {}),
      ...(reason ? { turnCompleteReason: reason } : {}),
      ...(waitingForInput ? { waitingForInput } : {}),
    };
    const response: LlmResponse = {
      turnComplete: true,
      ...this.takeGrounding(),
      ...(Object.keys(status).length > 0 ? { customMetadata: status } : {}),
    };
    this.closing = { at: now + (this.hasSpoken ? LATE_MS : 0), response };
    out.push(...this.complete(now));
  }

  private pushParts(parts: Part[], out: LlmResponse[]): void {
    for (const part of parts) {
      if (part.text) {
        const isThought = part.thought === true || this.options.isSpoken;
        this.say(part.text, isThought);
        const words: Part = { text: part.text, ...(isThought ? { thought: true } : {}) };
        out.push({ content: { role: 'model', parts: [words] }, partial: true });
        continue;
      }
      // Sound goes along with what is said; anything else has its place in the order.
      if (!part.inlineData) out.push(...this.flushSaid());
      else this.hasSpoken ||= this.options.isSpoken;
      out.push({ content: { role: 'model', parts: [part] } });
    }
  }

  private say(text: string, thought: boolean): void {
    const last = this.said.at(-1);
    if (last && (last.thought ?? false) === thought) last.text += text;
    else this.said.push(thought ? { text, thought } : { text });
  }

  private flush(): LlmResponse[] {
    return [...this.flushHeard(), ...this.flushSpoken(), ...this.flushSaid()];
  }

  private flushSaid(): LlmResponse[] {
    if (this.said.length === 0) return [];
    const parts = this.said;
    this.said = [];
    return [{ content: { role: 'model', parts }, partial: false, ...this.takeGrounding() }];
  }

  private flushHeard(): LlmResponse[] {
    if (!this.heard) return [];
    const text = this.heard;
    this.heard = '';
    return [{ inputTranscription: { text, finished: true }, partial: false }];
  }

  private flushSpoken(): LlmResponse[] {
    if (!this.spoken) return [];
    const text = this.spoken;
    this.spoken = '';
    return [{ outputTranscription: { text, finished: true }, partial: false }];
  }

  private takeGrounding(): { groundingMetadata?: GroundingMetadata } {
    const { grounding } = this;
    this.grounding = undefined;
    return grounding ? { groundingMetadata: grounding } : {};
  }
}
