import type { Recognise, Speak } from 'duologue/models';
import { fetchPart, hasPart } from './fetch-part.ts';
import { JobWorker } from './job-worker.ts';
import { EARS, MOUTH, type VoicePart } from './parts.ts';

/** Whether the demo can hear and speak. */
export type VoiceState =
  | { status: 'absent'; total: number }
  | { status: 'fetching'; bytes: number; total: number }
  | { status: 'ready' }
  | { status: 'failed'; message: string; total: number };

/** Shorter than this is a slip of the finger: a fifth of a second at 16 kHz. */
const SHORTEST = 3200;

/**
 * Ears and a mouth for any model, without a key and offline once they are fetched: some 67 MB, when voice is first used. English is
 * understood; what is spoken may be Japanese too.
 */
export class Voice {
  private readonly folder: string;
  private readonly registry: string;
  private readonly ears: JobWorker;
  private readonly mouth: JobWorker;
  private readonly controller = new AbortController();
  private state: VoiceState;

  constructor(options: { folder: string; registry: string }) {
    this.folder = options.folder;
    this.registry = options.registry;
    this.ears = new JobWorker(new URL('./recognise-worker.js', import.meta.url), options.folder);
    this.mouth = new JobWorker(new URL('./speak-worker.js', import.meta.url), options.folder);
    const missing = this.missing();
    this.state = missing.length === 0 ? { status: 'ready' } : { status: 'absent', total: bytesOf(missing) };
  }

  get now(): VoiceState {
    return this.state;
  }

  /** Fetches what is missing, once, however often it is called. What goes wrong is in the state. */
  prepare(): void {
    if (this.state.status === 'fetching' || this.state.status === 'ready') return;
    const missing = this.missing();
    const total = bytesOf(missing);
    this.state = { status: 'fetching', bytes: 0, total };
    this.fetch(missing, total)
      .then(() => {
        this.state = { status: 'ready' };
      })
      .catch((error: unknown) => {
        const message = wordsOf(error);
        this.state = { status: 'failed', message, total: bytesOf(this.missing()) };
      });
  }

  readonly recognise: Recognise = async (sound, { signal }) => {
    if (this.state.status === 'ready') for (const worker of [this.ears, this.mouth]) worker.warm();
    const pieces: Int16Array[] = [];
    for await (const samples of sound) pieces.push(samples);
    this.check();
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (length < SHORTEST) return '';
    const whole = new Int16Array(length);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    let text = '';
    for await (const value of this.done(this.ears, whole, signal)) text = String(value);
    return text;
  };

  readonly speak: Speak = (text, { signal }) => this.spoken(text, signal);

  async close(): Promise<void> {
    this.controller.abort();
    await Promise.all([this.ears.close(), this.mouth.close()]);
  }

  private async *spoken(text: string, signal: AbortSignal): AsyncGenerator<Int16Array, void> {
    this.check();
    for await (const samples of this.done(this.mouth, text, signal)) {
      if (samples instanceof Int16Array) yield samples;
    }
  }

  /** Has a job done. One that fails because files are gone says so: they can be fetched again. */
  private async *done(worker: JobWorker, job: unknown, signal: AbortSignal): AsyncGenerator<unknown, void> {
    try {
      yield* worker.run(job, signal);
    } catch (error) {
      const missing = this.missing();
      if (missing.length > 0) this.state = { status: 'absent', total: bytesOf(missing) };
      this.check();
      throw error;
    }
  }

  /** Says what is missing, in words. */
  private check(): void {
    const { state } = this;
    if (state.status === 'ready') return;
    if (state.status === 'fetching') {
      throw new Error(`voice is still being fetched (${mega(state.bytes)} of ${mega(state.total)} MB).`);
    }
    if (state.status === 'failed') throw new Error(`voice could not be fetched. ${state.message}`);
    throw new Error(`voice has not been fetched yet (${mega(state.total)} MB).`);
  }

  private missing(): VoicePart[] {
    return [...EARS, ...MOUTH].filter((part) => !hasPart(part, this.folder));
  }

  private async fetch(missing: readonly VoicePart[], total: number): Promise<void> {
    let bytes = 0;
    for (const part of missing) {
      await fetchPart(part, {
        folder: this.folder,
        registry: this.registry,
        signal: this.controller.signal,
        onBytes: (count) => {
          bytes += count;
          this.state = { status: 'fetching', bytes, total };
        },
      });
    }
  }
}

/** `fetch` says why it failed in the cause alone. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

function bytesOf(parts: readonly VoicePart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

function mega(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
