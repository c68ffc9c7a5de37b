/** Detects when speech starts and ends, in 16 kHz mono sound that arrives in pieces. */
export interface SpeechDetector {
  push(pcm: Int16Array): void;
  /** Releases what the detector holds, such as a model. */
  close?(): void;
}

/** Creates a detector that calls `onSpeech` with true when speech starts and with false when it has ended. */
export type DetectSpeech = (onSpeech: (isSpeech: boolean) => void) => SpeechDetector;

/** The number of samples in a step. The detector measures the loudness of each step, which is 20 ms of sound at 16 kHz. */
const STEP = 320;
/** Speech starts when at least `LOUD_STEPS` of the last `WITHIN` steps were loud, and at least `VOICED_STEPS` of these were voiced. */
const LOUD_STEPS = 3;
const VOICED_STEPS = 2;
const WITHIN = 6;
/** A step is loud when it is more than this many times louder than the background, and louder than the faintest speech. */
const ABOVE_BACKGROUND = 3;
/** The largest change from sample to sample that a voice has, as a share of its power. Hiss, rain and knocks have a larger change. */
const ROUGHEST = 0.4;
/** The coefficient of a high-pass filter at about 130 Hz. It removes rumble before the change from sample to sample is measured. */
const HIGH_PASS = 0.95;

/** Options of the energy detector. */
export interface EnergyDetectorOptions {
  /** From 0, for a loud room, to 1, for a whispering voice. Default: 0.5. */
  sensitivity?: number;
  /** How many milliseconds of quiet end the speech. Default: 700. */
  quietMs?: number;
}

/**
 * A speech detector (VAD) that measures loudness. It takes sound for speech when the sound is voiced and louder than the background. It
 * is small and needs no model. It ignores hiss and knocks, but cannot tell a voice from music.
 *
 * @example
 * const detector = energyDetector({ sensitivity: 0.7 })((isSpeech) => console.log(isSpeech));
 * detector.push(pcm);
 */
export function energyDetector({
  sensitivity = 0.5,
  quietMs = 700,
}: EnergyDetectorOptions = {}): DetectSpeech {
  // The loudness of the quietest speech, on the scale of 16-bit samples (up to 32,767). Quieter sound is never speech, even in a silent room.
  const faintest = 350 * 4 ** (1 - 2 * sensitivity);
  // A whisper changes as much from sample to sample as hiss does, so a high sensitivity accepts rougher sound.
  const roughest = ROUGHEST + 5 * Math.max(0, sensitivity - 0.5);
  const quietSteps = quietMs / 20;
  return (onSpeech) => {
    let sum = 0;
    let count = 0;
    let before = 0;
    let high = 0;
    let power = 0;
    let change = 0;
    let background = faintest / ABOVE_BACKGROUND;
    let isSpeech = false;
    let quiet = 0;
    let recent: ('quiet' | 'rough' | 'voiced')[] = [];
    const step = (loudness: number, roughness: number) => {
      const isLoud = loudness > Math.max(faintest, background * ABOVE_BACKGROUND);
      // The measured background falls at once to the loudness of a quieter sound, and rises slowly to that of a louder one.
      background =
        loudness < background ? loudness : background + (loudness - background) * (isLoud ? 0.002 : 0.05);
      quiet = isLoud ? 0 : quiet + 1;
      recent = [...recent, !isLoud ? 'quiet' : roughness > roughest ? 'rough' : 'voiced'].slice(
        -WITHIN,
      ) as typeof recent;
      const loud = recent.filter((one) => one !== 'quiet').length;
      const voiced = recent.filter((one) => one === 'voiced').length;
      if (isSpeech ? quiet < quietSteps : loud < LOUD_STEPS || voiced < VOICED_STEPS) return;
      isSpeech = !isSpeech;
      recent = [];
      onSpeech(isSpeech);
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
