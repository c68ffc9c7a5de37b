/** Finds out when somebody speaks, in sound of 16 kHz that comes piece by piece. */
export interface SpeechDetector {
  push(pcm: Int16Array): void;
  close?(): void;
}

/** Makes a detector; it says when speech begins and when it has ended. */
export type DetectSpeech = (onSpeech: (isSpeech: boolean) => void) => SpeechDetector;

/** 20 ms at 16 kHz: the step in which sound is looked at. */
const STEP = 320;
/** Speech has begun when so many of the last steps were loud, and so many of those sounded. */
const LOUD_STEPS = 3;
const SOUNDING_STEPS = 2;
const WITHIN = 6;
/** How much louder than the room speech is. */
const ABOVE_ROOM = 3;
/** How much a voice changes from sample to sample at most, as a share of its power; hiss, rain and knocks change more. */
const ROUGHEST = 0.4;
/** A high-pass of about 130 Hz before that is looked at: rumble would hide it. */
const HIGH_PASS = 0.95;

type Loudness = 'quiet' | 'rough' | 'sounding';

/** What an energy gate may be told. */
export interface EnergyGateOptions {
  /** From 0, for a loud room, to 1, for a voice that whispers. */
  sensitivity?: number;
  /** How long it must be quiet before speech has ended. */
  quietMs?: number;
}

/**
 * Takes what is louder than the room, and sounds, for speech. It is small and always there; hiss and knocks it passes over, but it
 * cannot tell a voice from music.
 */
export function energyGate({ sensitivity = 0.5, quietMs = 700 }: EnergyGateOptions = {}): DetectSpeech {
  // Of 32,767: nothing quieter is speech, however silent the room is.
  const faintest = 350 * 4 ** (1 - 2 * sensitivity);
  // A whisper is rough as well.
  const roughest = ROUGHEST + 5 * Math.max(0, sensitivity - 0.5);
  const quietSteps = quietMs / 20;
  return (onSpeech) => {
    let sum = 0;
    let count = 0;
    let before = 0;
    let high = 0;
    let power = 0;
    let change = 0;
    let room = faintest / ABOVE_ROOM;
    let isOpen = false;
    let quiet = 0;
    let recent: Loudness[] = [];
    const step = (loudness: number, roughness: number) => {
      const isLoud = loudness > Math.max(faintest, room * ABOVE_ROOM);
      // The room is known by its quietest moments: believed at once when it grows quieter, slowly when it grows louder.
      room = loudness < room ? loudness : room + (loudness - room) * (isLoud ? 0.002 : 0.05);
      quiet = isLoud ? 0 : quiet + 1;
      const now: Loudness = !isLoud ? 'quiet' : roughness > roughest ? 'rough' : 'sounding';
      recent = [...recent, now].slice(-WITHIN);
      const loud = recent.filter((one) => one !== 'quiet').length;
      const sounding = recent.filter((one) => one === 'sounding').length;
      if (isOpen ? quiet < quietSteps : loud < LOUD_STEPS || sounding < SOUNDING_STEPS) return;
      isOpen = !isOpen;
      recent = [];
      onSpeech(isOpen);
    };
    return {
      push(pcm) {
        for (const sample of pcm) {
          sum += sample * sample;
          const higher = HIGH_PASS * high + sample - before;
          power += higher * higher;
          change += (higher - high) ** 2;
          high = higher;
          before = sample;
          if (++count < STEP) continue;
          const loudness = Math.sqrt(sum / STEP);
          const roughness = change / Math.max(1, power);
          sum = 0;
          count = 0;
          power = 0;
          change = 0;
          step(loudness, roughness);
        }
      },
    };
  };
}
