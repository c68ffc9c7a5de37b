/** The number of samples for one measurement of loudness: 20 ms at 16 kHz. */
const STEP = 320;
/** Speech has started when `LOUD_STEPS` of the last `LOUD_WITHIN` steps were loud. */
const LOUD_STEPS = 3;
const LOUD_WITHIN = 5;
/** Speech has ended after this many quiet steps: 700 ms. */
const QUIET_STEPS = 35;
/** Sound with a lower loudness is never speech, even in a silent room (on the scale of 16-bit samples, up to 32,767). */
const MIN_LOUDNESS = 350;
/** Speech is louder than the background noise of the room by this factor. */
const ABOVE_ROOM = 3;

type Found = 'start' | 'end' | null;

/** Detects voice activity by loudness alone, for clients without a detector. It also takes a loud noise, such as a closing door, for speech. */
export class Vad {
  private rest = new Int16Array(0);
  private room = MIN_LOUDNESS / ABOVE_ROOM;
  private isSpeech = false;
  private quiet = 0;
  private recent: boolean[] = [];

  /** Adds sound at 16 kHz. Returns the last start or end of speech that was found in it; null when there is none. */
  push(samples: Int16Array): Found {
    const sound = joined(this.rest, samples);
    let at = 0;
    let found: Found = null;
    for (; at + STEP <= sound.length; at += STEP) {
      found = this.step(loudnessOf(sound.subarray(at, at + STEP))) ?? found;
    }
    this.rest = sound.slice(at);
    return found;
  }

  private step(loudness: number): Found {
    const isLoud = loudness > Math.max(MIN_LOUDNESS, this.room * ABOVE_ROOM);
    // `room` follows the quietest moments: it falls to a quieter sound at once, and rises slowly.
    this.room =
      loudness < this.room ? loudness : this.room + (loudness - this.room) * (isLoud ? 0.002 : 0.05);
    if (this.isSpeech) {
      this.quiet = isLoud ? 0 : this.quiet + 1;
      if (this.quiet < QUIET_STEPS) return null;
      this.isSpeech = false;
      this.recent = [];
      return 'end';
    }
    this.recent = [...this.recent, isLoud].slice(-LOUD_WITHIN);
    if (this.recent.filter(Boolean).length < LOUD_STEPS) return null;
    this.isSpeech = true;
    this.quiet = 0;
    return 'start';
  }
}

function loudnessOf(samples: Int16Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return Math.sqrt(sum / samples.length);
}

function joined(a: Int16Array, b: Int16Array): Int16Array {
  if (a.length === 0) return b;
  const both = new Int16Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
