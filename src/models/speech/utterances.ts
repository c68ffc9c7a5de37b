import { SpeechGate } from './vad.ts';

/** What an ear makes of sound: the borders of what is said, and the sound between them. */
export type Heard = { type: 'begins' } | { type: 'sound'; samples: Int16Array } | { type: 'ends' };

/** At 16 kHz. Kept from before the beginning was noticed, so that the first syllable is not lost: 400 ms. */
const PRE_ROLL = 6400;
/** The longest that is taken as one thing said: 60 s. */
const LONGEST = 960_000;

/**
 * Finds the utterances in a stream of sound. With `marked: true` the page marks them (`press`, `release`: a key that is held, or detection
 * there), and nothing outside the marks is listened to; otherwise loudness does, and `release` ends what is being said.
 */
export class Ear {
  private readonly isMarked: boolean;
  private readonly gate = new SpeechGate();
  private before: Int16Array[] = [];
  private length = 0;
  private isOpen = false;
  private isPressed = false;

  constructor(options: { marked: boolean }) {
    this.isMarked = options.marked;
  }

  /** Where nobody marks anything, this is somebody who stopped the model: nothing is said yet. */
  press(): void {
    this.isPressed = this.isMarked;
  }

  release(): Heard[] {
    this.isPressed = false;
    return this.isOpen ? [this.close()] : [];
  }

  push(samples: Int16Array): Heard[] {
    const happened = this.isMarked ? null : this.gate.push(samples);
    if (!this.isOpen) {
      this.keep(samples);
      if (!this.isPressed && happened !== 'begins') {
        if (this.isMarked) this.before = [];
        return [];
      }
      this.isOpen = true;
      const sound = this.before.map((one): Heard => ({ type: 'sound', samples: one }));
      this.before = [];
      return [{ type: 'begins' }, ...sound];
    }
    this.length += samples.length;
    const out: Heard[] = [{ type: 'sound', samples }];
    if (happened === 'ends' || this.length >= LONGEST) out.push(this.close());
    return out;
  }

  private close(): Heard {
    this.isOpen = false;
    this.isPressed = false;
    this.length = 0;
    return { type: 'ends' };
  }

  private keep(samples: Int16Array): void {
    this.before.push(samples);
    let kept = this.before.reduce((sum, one) => sum + one.length, 0);
    while (this.before.length > 1 && kept - (this.before[0]?.length ?? 0) >= PRE_ROLL) {
      kept -= this.before.shift()?.length ?? 0;
    }
  }
}
