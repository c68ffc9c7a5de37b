import type { Patience } from '../retry-policy.ts';

/**
 * Understands one thing that is said: sound at 16 kHz, mono, 16 bits, as it comes in; it ends where the person stops. Returns the whole
 * text, empty when nothing was said; what it throws is told to the person. `heard` may be called with further
 * words while the person speaks: words that will not change.
 */
export type Recognise = (
  sound: AsyncIterable<Int16Array>,
  options: { signal: AbortSignal; heard: (words: string) => void },
) => Promise<string>;

/** Speaks one sentence: returns sound at 24 kHz, mono, 16 bits, as soon as there is some. */
export type Speak = (text: string, options: { signal: AbortSignal }) => AsyncIterable<Int16Array>;

/** What a model needs to hear and speak. */
export interface EarsOptions {
  recognise: Recognise;
  /** Without it the model hears and answers in writing. */
  speak?: Speak;
  /** Called when an answer could not be spoken; its text arrives all the same. */
  onSpeakError?: (error: unknown) => void;
  patience?: Partial<Patience>;
}
