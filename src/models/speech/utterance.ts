import { AsyncQueue } from '@google/adk';
import { energyDetector } from '../../protocol/speech-detector.ts';

/**
 * A speech-to-text engine. It gets the sound of one utterance as it comes in (16 kHz, mono, 16 bits) and resolves to the whole text, empty when
 * nothing was said. It may call `onPartial` with further words while the user speaks, but only with words that it will not change. When it rejects,
 * the user sees the message of the error. `signal` aborts when the text is no longer needed.
 */
export type SpeechToText = (
  sound: AsyncIterable<Int16Array>,
  options: { signal: AbortSignal; onPartial: (words: string) => void },
) => Promise<string>;

/** One utterance: its sound while it is spoken, and its text. */
export class Utterance {
  /** Resolves to the text, empty when nothing was said. Rejects when the engine fails. */
  readonly text: Promise<string>;
  private isPartlyEmitted = false;
  private readonly sound = new AsyncQueue<Int16Array>();
  private readonly controller = new AbortController();

  /** Starts the engine when `before` has resolved. */
  constructor(engine: SpeechToText, onPartial: (words: string) => void, before: Promise<unknown>) {
    const { signal } = this.controller;
    this.text = before.then(async () => {
      if (signal.aborted) return '';
      const text = await engine(this.sound, {
        signal,
        onPartial: (words) => {
          if (signal.aborted) return;
          this.isPartlyEmitted = true;
          onPartial(words);
        },
      });
      return text.trim();
    });
    // No code awaits the text of a cancelled utterance. Avoid an unhandled rejection.
    this.text.catch(() => undefined);
  }

  /** Whether some words were emitted before the whole text is known. */
  get hasPartials(): boolean {
    return this.isPartlyEmitted;
  }

  get isCancelled(): boolean {
    return this.controller.signal.aborted;
  }

  push(samples: Int16Array): void {
    this.sound.push(samples);
  }

  end(): void {
    this.sound.close();
  }

  cancel(): void {
    this.controller.abort();
    this.sound.close();
  }
}

/** The events of the detector: the start and the end of an utterance, and the sound between them. */
export type SpeechEvent = { type: 'start' } | { type: 'sound'; samples: Int16Array } | { type: 'end' };

/** At 16 kHz: 400 ms of sound from before the detector noticed speech, so that the first syllable is not lost. */
const PRE_ROLL = 6400;
/** The longest utterance: 60 s. */
const MAX_LENGTH = 960_000;

/**
 * Finds the utterances in a stream of sound. With `hasSignals: true` the page signals the start and end of each (`start`, `stop`: the user
 * holds a key, or the page has a VAD), and sound outside the signals is ignored. Otherwise a VAD here finds the utterances, and `stop`
 * ends the current one.
 */
export class UtteranceDetector {
  private readonly hasSignals: boolean;
  /** Detects speech by its loudness, for pages that signal nothing. */
  private readonly vad = energyDetector()((isSpeech) => {
    this.found = isSpeech ? 'start' : 'end';
  });
  /** The last start or end of speech in the sound that is being pushed; null when there is none. */
  private found: 'start' | 'end' | null = null;
  private before: Int16Array[] = [];
  private length = 0;
  private isOpen = false;
  private isSignalled = false;

  constructor({ hasSignals }: { hasSignals: boolean }) {
    this.hasSignals = hasSignals;
  }

  /** Handles the page's signal that the user starts to speak. With `hasSignals: false` it starts no utterance. */
  start(): void {
    this.isSignalled = this.hasSignals;
  }

  stop(): SpeechEvent[] {
    this.isSignalled = false;
    return this.isOpen ? [this.close()] : [];
  }

  push(samples: Int16Array): SpeechEvent[] {
    this.found = null;
    if (!this.hasSignals) this.vad.push(samples);
    const { found } = this;
    if (!this.isOpen) {
      this.keep(samples);
      if (!this.isSignalled && found !== 'start') {
        if (this.hasSignals) this.before = [];
        return [];
      }
      this.isOpen = true;
      const sound = this.before.map((one): SpeechEvent => ({ type: 'sound', samples: one }));
      this.before = [];
      return [{ type: 'start' }, ...sound];
    }
    this.length += samples.length;
    const out: SpeechEvent[] = [{ type: 'sound', samples }];
    if (found === 'end' || this.length >= MAX_LENGTH) out.push(this.close());
    return out;
  }

  private close(): SpeechEvent {
    this.isOpen = false;
    this.isSignalled = false;
    this.length = 0;
    return { type: 'end' };
  }

  private keep(samples: Int16Array): void {
    this.before.push(samples);
    let kept = this.before.reduce((sum, one) => sum + one.length, 0);
    while (this.before.length > 1 && kept - (this.before[0]?.length ?? 0) >= PRE_ROLL) {
      kept -= this.before.shift()?.length ?? 0;
    }
  }
}
