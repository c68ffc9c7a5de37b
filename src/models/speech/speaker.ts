import { unlessAborted } from '../../adk/run.ts';

/**
 * A text-to-speech engine. It gets one sentence and yields its sound (24 kHz, mono, 16 bits) in pieces, as soon as each is ready.
 * `signal` aborts when the sound is no longer needed.
 */
export type TextToSpeech = (text: string, options: { signal: AbortSignal }) => AsyncIterable<Int16Array>;

/** At 24 kHz: sound is emitted in pieces of at most 100 ms. */
const PIECE = 2400;

/** Speaks sentences one after the other. When the engine fails for a sentence, `onError` is called and the next sentence follows: the user has the text. */
export class Speaker {
  private readonly engine: TextToSpeech;
  private readonly emit: (samples: Int16Array) => void;
  private readonly onError: (error: unknown) => void;
  private controller = new AbortController();
  private last: Promise<void> = Promise.resolve();

  constructor(engine: TextToSpeech, emit: (samples: Int16Array) => void, onError: (error: unknown) => void) {
    this.engine = engine;
    this.emit = emit;
    this.onError = onError;
  }

  say(sentence: string): void {
    const { signal } = this.controller;
    this.last = this.last.then(() => unlessAborted(this.speak(sentence, signal), signal, () => undefined));
  }

  /** Stops speaking at once, and discards all sentences. */
  stop(): void {
    this.controller.abort();
    this.controller = new AbortController();
    this.last = Promise.resolve();
  }

  /** Resolves when all sentences were spoken, or `stop` discarded them. */
  get done(): Promise<void> {
    return this.last;
  }

  private async speak(sentence: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    try {
      for await (const samples of this.engine(sentence, { signal })) {
        if (signal.aborted) return;
        for (let at = 0; at < samples.length; at += PIECE) this.emit(samples.subarray(at, at + PIECE));
      }
    } catch (error) {
      if (!signal.aborted) this.onError(error);
    }
  }
}
