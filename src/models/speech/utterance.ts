import { AsyncQueue } from '@google/adk';
import type { Recognise } from './options.ts';

/** Something that is being said, and what was understood of it. */
export class Utterance {
  /** What was said; empty when nothing was. */
  readonly text: Promise<string>;
  /** Whether words of it were told while it went on. */
  isPartlyHeard = false;
  private readonly sound = new AsyncQueue<Int16Array>();
  private readonly controller = new AbortController();

  /** It is understood once what was said before it is. */
  constructor(recognise: Recognise, heard: (words: string) => void, before: Promise<unknown>) {
    const { signal } = this.controller;
    const told = (words: string) => {
      if (signal.aborted) return;
      this.isPartlyHeard = true;
      heard(words);
    };
    this.text = before.then(() => this.recognise(recognise, signal, told));
    // Whoever waits for it hears of a failure; nobody may be waiting.
    this.text.catch(() => undefined);
  }

  push(samples: Int16Array): void {
    this.sound.push(samples);
  }

  end(): void {
    this.sound.close();
  }

  /** Nobody wants to know any more. */
  drop(): void {
    this.controller.abort();
    this.sound.close();
  }

  get isDropped(): boolean {
    return this.controller.signal.aborted;
  }

  private async recognise(
    recognise: Recognise,
    signal: AbortSignal,
    heard: (words: string) => void,
  ): Promise<string> {
    if (signal.aborted) return '';
    const text = await recognise(this.sound, { signal, heard });
    return text.trim();
  }
}
