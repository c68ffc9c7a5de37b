import { AsyncQueue, type BaseLlmConnection, type LlmResponse } from '@google/adk';
import type { Blob, Content, Part } from '@google/genai';
import { withLiveFacts } from '../../adk/live-facts.ts';
import { messageOf } from '../provider-error.ts';
import type { EarsOptions } from './options.ts';
import { Sentences } from './sentences.ts';
import { Voice } from './speaker.ts';
import { Utterance } from './utterance.ts';
import { Ear, type Heard } from './utterances.ts';

/** So many things that were said may wait to be understood. */
const MOST_UNHEARD = 4;

/**
 * A live connection that hears and speaks, around one that reads and writes. Sound is cut into utterances, each is understood and handed on
 * as text; what is written is spoken as well, if the person spoke. Whoever begins to speak interrupts.
 */
export class EarsConnection implements BaseLlmConnection {
  private readonly inner: BaseLlmConnection;
  private readonly options: EarsOptions;
  private readonly ear: Ear;
  private readonly voice: Voice | undefined;
  private readonly sentences = new Sentences();
  private readonly out = new AsyncQueue<LlmResponse>();
  private utterance: Utterance | undefined;
  /** What was said is handed on in the order in which it was said. */
  private understood: Promise<void> = Promise.resolve();
  private readonly unheard = new Set<Utterance>();
  /** The newest picture of a camera, until somebody says something. */
  private picture: Part | undefined;
  /** What of the model's answer has been read for speaking. */
  private read = '';
  private isSpoken = false;
  private isClosed = false;

  constructor(inner: BaseLlmConnection, options: EarsOptions & { marked: boolean }) {
    this.inner = inner;
    this.options = options;
    this.ear = new Ear({ marked: options.marked });
    const { speak, onSpeakError = () => undefined } = options;
    if (speak)
      this.voice = new Voice({ speak, out: (samples) => this.sound(samples), onError: onSpeakError });
  }

  sendHistory(history: Content[]): Promise<void> {
    return this.inner.sendHistory(history);
  }

  async sendContent(content: Content): Promise<void> {
    if (content.parts?.every((part) => part.functionResponse)) return this.inner.sendContent(content);
    // Who types wants to read.
    this.isSpoken = false;
    this.hush();
    return this.inner.sendContent(this.withPicture(content));
  }

  async sendRealtime(blob: Blob): Promise<void> {
    if (this.isClosed || !blob.data) return;
    if (blob.mimeType?.startsWith('image/')) {
      this.picture = { inlineData: { mimeType: blob.mimeType, data: blob.data } };
      return;
    }
    if (blob.mimeType?.startsWith('audio/pcm')) await this.take(this.ear.push(samplesOf(blob.data)));
  }

  async sendActivityStart(): Promise<void> {
    this.ear.press();
    this.hush();
    await this.inner.sendActivityStart?.();
  }

  async sendActivityEnd(): Promise<void> {
    await this.take(this.ear.release());
  }

  async *receive(): AsyncGenerator<LlmResponse, void, void> {
    this.relay()
      .then(() => this.out.close())
      .catch((error: unknown) => this.out.fail(error));
    yield* this.out;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const utterance of this.unheard) utterance.drop();
    this.utterance?.drop();
    this.hush();
    await this.inner.close();
    this.out.close();
  }

  private async take(heard: Heard[]): Promise<void> {
    for (const one of heard) {
      if (one.type === 'begins') await this.begin();
      else if (one.type === 'sound') this.utterance?.push(one.samples);
      else this.end();
    }
  }

  private async begin(): Promise<void> {
    this.hush();
    if (this.unheard.size >= MOST_UNHEARD) return this.misunderstood('too much was said at once.');
    const heard = (text: string) => this.hear(text, false);
    // One at a time: whoever says much does not keep others waiting.
    const before = Promise.allSettled([...this.unheard].map(({ text }) => text));
    this.utterance = new Utterance(this.options.recognise, heard, before);
    await this.inner.sendActivityStart?.();
  }

  private end(): void {
    const { utterance } = this;
    if (!utterance) return;
    this.utterance = undefined;
    utterance.end();
    this.unheard.add(utterance);
    this.understood = this.understood.then(() => this.understand(utterance));
  }

  /** Never rejects: what was not understood is told. */
  private async understand(utterance: Utterance): Promise<void> {
    try {
      const text = await utterance.text;
      if (utterance.isDropped) return;
      if (text === '') {
        // Whoever spoke wants to know that nothing was understood. Nothing of it is kept.
        this.hear('', true);
        return;
      }
      this.isSpoken = true;
      this.out.push({ inputTranscription: { text, finished: true }, partial: false });
      await this.inner.sendContent(this.withPicture({ role: 'user', parts: [{ text }] }));
    } catch (error) {
      if (utterance.isDropped) return;
      // The words so far lead nowhere: what is said next does not continue them.
      if (utterance.isPartlyHeard) this.hear('', true);
      this.misunderstood(messageOf(error));
    } finally {
      this.unheard.delete(utterance);
    }
  }

  /** Tells words that are shown, not kept. */
  private hear(text: string, finished: boolean): void {
    this.out.push({ inputTranscription: { text, finished }, partial: true });
  }

  private misunderstood(why: string): void {
    this.out.push({
      errorCode: 'RECOGNISER_ERROR',
      errorMessage: `What was said could not be understood: ${why}`,
    });
    this.out.push({ turnComplete: true, ...withLiveFacts({ continues: false }) });
  }

  /** Passes on what the model says, and has it spoken. A turn ends when all of it has been spoken. */
  private async relay(): Promise<void> {
    for await (const response of this.inner.receive()) {
      if (response.interrupted) this.hush();
      if (response.turnComplete) await this.voice?.done;
      this.out.push(response);
      this.speak(response);
    }
  }

  private speak({ content, partial }: LlmResponse): void {
    if (!this.voice || !this.isSpoken || !content) return;
    const text = (content.parts ?? []).map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
    // The whole text comes again at the end.
    const fresh = partial ? text : text.startsWith(this.read) ? text.slice(this.read.length) : '';
    this.read = partial ? this.read + text : '';
    for (const sentence of this.sentences.push(fresh)) this.voice.say(sentence);
    if (!partial) for (const sentence of this.sentences.end()) this.voice.say(sentence);
  }

  private hush(): void {
    this.voice?.stop();
    this.sentences.end();
    this.read = '';
  }

  private sound(samples: Int16Array): void {
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
  // Copied: a slice of Node's shared memory may begin at an odd address.
  const samples = new Int16Array(bytes.length >> 1);
  for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(i * 2);
  return samples;
}
