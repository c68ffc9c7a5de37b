import { AsyncQueue, type BaseLlmConnection, type LlmResponse } from '@google/adk';
import type { Blob, Content, Part } from '@google/genai';
import { withLiveFacts } from '../../adk/live-facts.ts';
import { messageOf } from '../provider-error.ts';
import type { RetryPolicy } from '../retry-policy.ts';
import { Sentences } from './sentences.ts';
import { Speaker, type TextToSpeech } from './speaker.ts';
import { type SpeechEvent, type SpeechToText, Utterance, UtteranceDetector } from './utterance.ts';

/** The engines and settings that add speech to a model. */
export interface SpeechOptions {
  speechToText: SpeechToText;
  /** Without an engine for text-to-speech, the model understands speech and answers in writing. */
  textToSpeech?: TextToSpeech;
  /** Called when a sentence of an answer could not be spoken. The user still gets its text. */
  onSpeechError?: (error: unknown) => void;
  retryPolicy?: Partial<RetryPolicy>;
}

/** How many utterances may wait for speech-to-text. */
const MAX_WAITING = 4;

/**
 * A live connection with audio that wraps a live connection with text. It cuts sound into utterances and sends the text of each as a message of the
 * user, in the order in which they were spoken. The answer to a spoken message is spoken, if there is an engine for that. Speech interrupts the model.
 */
export class SpeechConnection implements BaseLlmConnection {
  private readonly inner: BaseLlmConnection;
  private readonly speechToText: SpeechToText;
  private readonly detector: UtteranceDetector;
  private readonly speaker: Speaker | undefined;
  private readonly sentences = new Sentences();
  private readonly out = new AsyncQueue<LlmResponse>();
  private utterance: Utterance | undefined;
  /** Resolves when the texts of all earlier utterances have been passed to the model. */
  private understood: Promise<void> = Promise.resolve();
  private readonly waiting = new Set<Utterance>();
  /** The newest picture of the camera. It is sent with the next message. */
  private picture: Part | undefined;
  /** The partial text of the model's answer that was already passed to the speaker. */
  private read = '';
  private isSpoken = false;
  private isClosed = false;

  constructor(inner: BaseLlmConnection, options: SpeechOptions, { hasSignals }: { hasSignals: boolean }) {
    const { textToSpeech, onSpeechError = () => undefined } = options;
    this.inner = inner;
    this.speechToText = options.speechToText;
    this.detector = new UtteranceDetector({ hasSignals });
    if (textToSpeech)
      this.speaker = new Speaker(textToSpeech, (samples) => this.emit(samples), onSpeechError);
  }

  sendHistory(history: Content[]): Promise<void> {
    return this.inner.sendHistory(history);
  }

  async sendContent(content: Content): Promise<void> {
    if (content.parts?.every((part) => part.functionResponse)) return this.inner.sendContent(content);
    // A typed message is answered in writing.
    this.isSpoken = false;
    this.mute();
    return this.inner.sendContent(this.withPicture(content));
  }

  async sendRealtime(blob: Blob): Promise<void> {
    if (this.isClosed || !blob.data) return;
    if (blob.mimeType?.startsWith('image/')) {
      this.picture = { inlineData: { mimeType: blob.mimeType, data: blob.data } };
      return;
    }
    if (blob.mimeType?.startsWith('audio/pcm')) await this.apply(this.detector.push(samplesOf(blob.data)));
  }

  async sendActivityStart(): Promise<void> {
    this.detector.start();
    this.mute();
    await this.inner.sendActivityStart?.();
  }

  async sendActivityEnd(): Promise<void> {
    await this.apply(this.detector.stop());
  }

  async *receive(): AsyncGenerator<LlmResponse, void, void> {
    this.relay()
      .then(() => this.out.close())
      .catch((error: unknown) => this.out.fail(error));
    yield* this.out;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const utterance of this.waiting) utterance.cancel();
    this.utterance?.cancel();
    this.mute();
    await this.inner.close();
    this.out.close();
  }

  private async apply(events: SpeechEvent[]): Promise<void> {
    for (const event of events) {
      if (event.type === 'start') await this.startUtterance();
      else if (event.type === 'sound') this.utterance?.push(event.samples);
      else this.endUtterance();
    }
  }

  private async startUtterance(): Promise<void> {
    this.mute();
    if (this.waiting.size >= MAX_WAITING)
      return this.fail(
        `${MAX_WAITING} earlier utterances are not recognised yet. Wait a moment and speak again.`,
      );
    // Each connection transcribes one utterance at a time, so that one user's long speech does not occupy the engine for all users.
    const before = Promise.allSettled([...this.waiting].map(({ text }) => text));
    const onPartial = (text: string) => this.emitTranscript(text, false);
    this.utterance = new Utterance(this.speechToText, onPartial, before);
    await this.inner.sendActivityStart?.();
  }

  private endUtterance(): void {
    const { utterance } = this;
    if (!utterance) return;
    this.utterance = undefined;
    utterance.end();
    this.waiting.add(utterance);
    this.understood = this.understood.then(() => this.passOn(utterance));
  }

  /** Passes the text of an utterance to the model. Never rejects: a failure becomes a response. */
  private async passOn(utterance: Utterance): Promise<void> {
    try {
      const text = await utterance.text;
      if (utterance.isCancelled) return;
      if (text === '') {
        // An empty final transcript tells the page that no words were recognised. The transcript is partial, so ADK does not store it.
        this.emitTranscript('', true);
        return;
      }
      this.isSpoken = true;
      this.out.push({ inputTranscription: { text, finished: true }, partial: false });
      await this.inner.sendContent(this.withPicture({ role: 'user', parts: [{ text }] }));
    } catch (error) {
      if (utterance.isCancelled) return;
      // End the partial transcript, so that the next utterance does not continue it.
      if (utterance.hasPartials) this.emitTranscript('', true);
      this.fail(messageOf(error));
    } finally {
      this.waiting.delete(utterance);
    }
  }

  /** Emits a transcript that is shown and not stored. */
  private emitTranscript(text: string, finished: boolean): void {
    this.out.push({ inputTranscription: { text, finished }, partial: true });
  }

  private fail(why: string): void {
    const errorMessage = `The speech could not be recognised: ${why}`;
    this.out.push({ errorCode: 'RECOGNISER_ERROR', errorMessage });
    this.out.push({ turnComplete: true, ...withLiveFacts({ continues: false }) });
  }

  /** Passes the responses of the model to ADK, and their text to the speaker. A `turnComplete` is passed on when the whole turn has been spoken. */
  private async relay(): Promise<void> {
    for await (const response of this.inner.receive()) {
      if (response.interrupted) this.mute();
      if (response.turnComplete) await this.speaker?.done;
      this.out.push(response);
      this.speak(response);
    }
  }

  private speak({ content, partial }: LlmResponse): void {
    const { speaker, sentences } = this;
    if (!speaker || !this.isSpoken || !content) return;
    const text = (content.parts ?? []).map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
    // The final response repeats the whole text: speak only the text that no partial response had.
    const fresh = partial ? text : text.startsWith(this.read) ? text.slice(this.read.length) : '';
    this.read = partial ? this.read + text : '';
    for (const sentence of sentences.push(fresh)) speaker.say(sentence);
    if (!partial) for (const sentence of sentences.end()) speaker.say(sentence);
  }

  private mute(): void {
    this.speaker?.stop();
    this.sentences.end();
    this.read = '';
  }

  private emit(samples: Int16Array): void {
    const data = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength).toString('base64');
    const inlineData = { mimeType: 'audio/pcm;rate=24000', data };
    this.out.push({ content: { role: 'model', parts: [{ inlineData }] } });
  }

  private withPicture(content: Content): Content {
    const { picture } = this;
    this.picture = undefined;
    return picture ? { ...content, parts: [picture, ...(content.parts ?? [])] } : content;
  }
}

function samplesOf(base64: string): Int16Array {
  const bytes = Buffer.from(base64, 'base64');
  // Copy the samples: a slice of Node's shared buffer may begin at an odd address, where an `Int16Array` cannot begin.
  const samples = new Int16Array(bytes.length >> 1);
  for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(i * 2);
  return samples;
}
