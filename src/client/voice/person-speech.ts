import type { Connection } from '../link/index.ts';
import { OutgoingSpeech } from './outgoing-speech.ts';
import { type DetectSpeech, energyGate, type SpeechDetector } from './speech-detector.ts';
import type { VoiceOptions } from './voice-state.ts';

/** Kept from before the beginning was noticed, so that the first syllable is not lost: 500 ms in pieces of 20. */
const PRE_ROLL = 25;
/** What is said while something is held leaves after this much of it: until then it may have been a tap. 300 ms. */
const TAP = 15;

/** What the person says aloud, from the microphone to the server: whether they speak, and what of the sound is speech. */
export class PersonSpeech {
  readonly #options: VoiceOptions;
  readonly #onSpeech: (isSpeech: boolean) => void;
  readonly #onHeard: () => void;
  readonly #outgoing: OutgoingSpeech;
  #detector: SpeechDetector | null = null;
  /** What made it. */
  #detected: DetectSpeech | null = null;
  #before: Int16Array[] = [];
  #isTalking = false;
  /** Whether nothing of what is being said has left. */
  #isHeldBack = false;

  /** `onSpeech` is told what the detector finds, `onHeard` that what is said leaves. */
  constructor(options: VoiceOptions, onSpeech: (isSpeech: boolean) => void, onHeard: () => void) {
    this.#options = options;
    this.#onSpeech = onSpeech;
    this.#onHeard = onHeard;
    this.#outgoing = new OutgoingSpeech(options.wire === 'text');
  }

  /** Whether they speak, or hold something to do so. */
  get isTalking(): boolean {
    return this.#isTalking;
  }

  /** Whether they speak for certain. */
  get isHeard(): boolean {
    return this.#isTalking && !this.#isHeldBack;
  }

  connect(connection: Connection | null): void {
    this.#outgoing.connect(connection);
  }

  /** Looks for speech in what comes, from now on. */
  detect(): void {
    this.#detector?.close?.();
    this.#detected = this.#options.detect ?? energyGate();
    this.#detector = this.#detected(this.#onSpeech);
  }

  /** Finds speech in another way, now if somebody listens. */
  detectWith(detect: DetectSpeech): void {
    this.#options.detect = detect;
    this.#renew();
  }

  /** Sound of the microphone. */
  push(pcm: Int16Array): void {
    if (this.#isTalking && !this.#isHeldBack) this.#outgoing.push(pcm);
    else {
      this.#before.push(pcm);
      if (this.#before.length > PRE_ROLL) this.#before.shift();
      if (this.#isTalking && this.#before.length >= TAP) this.#leave();
    }
    this.#detector?.push(pcm);
  }

  /** The person speaks; what came just before goes along. */
  begin(mayBeTap: boolean): void {
    this.#isTalking = true;
    this.#isHeldBack = true;
    if (!mayBeTap) this.#leave();
  }

  /** The person has spoken. */
  end(): void {
    if (this.#isHeldBack) this.#leave();
    this.#isTalking = false;
    this.#outgoing.end();
    this.#renew();
  }

  /** Nothing was said: it was a tap. */
  cancel(): void {
    if (this.#isTalking && !this.#isHeldBack) this.#outgoing.end();
    this.#isTalking = false;
    this.#isHeldBack = false;
  }

  /** What came before counts no more. */
  forget(): void {
    this.#before = [];
  }

  /** The microphone is off. */
  close(): void {
    this.#detector?.close?.();
    this.#detector = null;
    this.forget();
  }

  /** What was kept leaves, and what comes follows it. */
  #leave(): void {
    this.#isHeldBack = false;
    this.#outgoing.begin();
    for (const pcm of this.#before.splice(0)) this.#outgoing.push(pcm);
    this.#onHeard();
  }

  /** One that has not heard the beginning would not know the end: whoever speaks is heard out first. */
  #renew(): void {
    if (this.#detector && !this.#isTalking && this.#options.detect && this.#detected !== this.#options.detect)
      this.detect();
  }
}
