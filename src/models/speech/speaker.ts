import type { Speak } from './options.ts';

/** 100 ms at 24 kHz: sound leaves in pieces of this length at most. */
const PIECE = 2400;

export interface VoiceOptions {
  speak: Speak;
  /** Takes sound, 24 kHz. */
  out: (samples: Int16Array) => void;
  onError: (error: unknown) => void;
}

/** Speaks sentences one after the other. What cannot be spoken is left out: it is there as text. */
export class Voice {
  private readonly options: VoiceOptions;
  private controller = new AbortController();
  private last: Promise<void> = Promise.resolve();

  constructor(options: VoiceOptions) {
    this.options = options;
  }

  say(sentence: string): void {
    const { signal } = this.controller;
    this.last = this.last.then(() => unlessAborted(this.speak(sentence, signal), signal));
  }

  /** Silent at once; what was still to be said is forgotten. */
  stop(): void {
    this.controller.abort();
    this.controller = new AbortController();
    this.last = Promise.resolve();
  }

  /** Resolves when everything has been said, or was stopped. */
  get done(): Promise<void> {
    return this.last;
  }

  private async speak(sentence: string, signal: AbortSignal): Promise<void> {
    const { speak, out, onError } = this.options;
    if (signal.aborted) return;
    try {
      for await (const samples of speak(sentence, { signal })) {
        if (signal.aborted) return;
        for (let at = 0; at < samples.length; at += PIECE) out(samples.subarray(at, at + PIECE));
      }
    } catch (error) {
      if (!signal.aborted) onError(error);
    }
  }
}

/** Resolves when the work is done, or as soon as nobody wants it. */
function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    work.then(end, end);
  });
}
