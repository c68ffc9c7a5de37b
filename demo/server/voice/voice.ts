import type { Recognise, Speak } from 'duologue/models';
import { FetchedParts, type FetchState } from './fetched-parts.ts';
import { JobWorker } from './job-worker.ts';
import { EARS, MOUTH } from './parts.ts';

/** Shorter than this is a slip of the finger: a fifth of a second at 16 kHz. */
const SHORTEST = 3200;

/**
 * Ears and a mouth for any model, without a key and offline once they are fetched: some 67 MB, when voice is first used. English is
 * understood; what is spoken may be Japanese too.
 */
export class Voice {
  private readonly fetched: FetchedParts;
  private readonly ears: JobWorker;
  private readonly mouth: JobWorker;

  constructor(options: { folder: string; registry: string }) {
    this.fetched = new FetchedParts([...EARS, ...MOUTH], options);
    this.ears = new JobWorker(new URL('./recognise-worker.js', import.meta.url), options.folder);
    this.mouth = new JobWorker(new URL('./speak-worker.js', import.meta.url), options.folder);
  }

  get now(): FetchState {
    return this.fetched.now;
  }

  /** Fetches what is missing, once, however often it is called. What goes wrong is in the state. */
  prepare(): void {
    this.fetched.prepare();
  }

  readonly recognise: Recognise = async (sound, { signal }) => {
    if (this.now.status === 'ready') for (const worker of [this.ears, this.mouth]) worker.warm();
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
    this.fetched.close();
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
      this.fetched.look();
      this.check();
      throw error;
    }
  }

  /** Says what is missing, in words. */
  private check(): void {
    const state = this.now;
    if (state.status === 'ready') return;
    if (state.status === 'fetching') {
      throw new Error(`voice is still being fetched (${mega(state.bytes)} of ${mega(state.total)} MB).`);
    }
    if (state.status === 'failed') throw new Error(`voice could not be fetched. ${state.message}`);
    throw new Error(`voice has not been fetched yet (${mega(state.total)} MB).`);
  }
}

function mega(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
