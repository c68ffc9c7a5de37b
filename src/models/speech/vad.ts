/** 20 ms at 16 kHz: the step in which loudness is looked at. */
const STEP = 320;
/** Speech has begun when so many of the last steps were loud. */
const LOUD_STEPS = 3;
const LOUD_WITHIN = 5;
/** Speech has ended after so many quiet steps: 700 ms. */
const QUIET_STEPS = 35;
/** Nothing quieter than this is speech, however silent the room is (of 32,767). */
const FAINTEST = 350;
/** How much louder than the room speech is. */
const ABOVE_ROOM = 3;

/**
 * Says when somebody begins and ends to speak, by loudness alone. For clients that do not find it out themselves: it cannot tell a voice
 * from a door.
 */
export class SpeechGate {
  private rest = new Int16Array(0);
  private room = FAINTEST / ABOVE_ROOM;
  private isOpen = false;
  private quiet = 0;
  private recent: boolean[] = [];

  /** Takes sound at 16 kHz and returns what happened in it last. */
  push(samples: Int16Array): 'begins' | 'ends' | null {
    const sound = joined(this.rest, samples);
    let at = 0;
    let happened: 'begins' | 'ends' | null = null;
    for (; at + STEP <= sound.length; at += STEP) {
      happened = this.step(loudnessOf(sound.subarray(at, at + STEP))) ?? happened;
    }
    this.rest = sound.slice(at);
    return happened;
  }

  private step(loudness: number): 'begins' | 'ends' | null {
    const isLoud = loudness > Math.max(FAINTEST, this.room * ABOVE_ROOM);
    // The room is known by its quietest moments: it is believed at once when it grows quieter, slowly when it grows louder.
    this.room =
      loudness < this.room ? loudness : this.room + (loudness - this.room) * (isLoud ? 0.002 : 0.05);
    if (this.isOpen) {
      this.quiet = isLoud ? 0 : this.quiet + 1;
      if (this.quiet < QUIET_STEPS) return null;
      this.isOpen = false;
      this.recent = [];
      return 'ends';
    }
    this.recent = [...this.recent, isLoud].slice(-LOUD_WITHIN);
    if (this.recent.filter(Boolean).length < LOUD_STEPS) return null;
    this.isOpen = true;
    this.quiet = 0;
    return 'begins';
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
