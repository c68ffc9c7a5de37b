/** Finds out when somebody speaks, in sound of 16 kHz that comes piece by piece. */
export interface SpeechDetector {
  push(pcm: Int16Array): void;
  close?(): void;
}

/** Makes a detector; it says when speech begins and when it has ended. */
export type DetectSpeech = (onSpeech: (isSpeech: boolean) => void) => SpeechDetector;

/** 20 ms at 16 kHz: the step in which loudness is looked at. */
const STEP = 320;
/** Speech has begun when so many of the last steps were loud. */
const LOUD_STEPS = 3;
const LOUD_WITHIN = 5;
/** How much louder than the room speech is. */
const ABOVE_ROOM = 3;

/** What an energy gate may be told. */
export interface EnergyGateOptions {
  /** From 0, for a loud room, to 1, for a voice that whispers. */
  sensitivity?: number;
  /** How long it must be quiet before speech has ended. */
  quietMs?: number;
}

/** Takes what is louder than the room for speech. It is small and always there, and cannot tell a voice from a door. */
export function energyGate({ sensitivity = 0.5, quietMs = 700 }: EnergyGateOptions = {}): DetectSpeech {
  // Of 32,767: nothing quieter is speech, however silent the room is.
  const faintest = 350 * 4 ** (1 - 2 * sensitivity);
  const quietSteps = quietMs / 20;
  return (onSpeech) => {
    let sum = 0;
    let count = 0;
    let room = faintest / ABOVE_ROOM;
    let isOpen = false;
    let quiet = 0;
    let recent: boolean[] = [];
    const step = (loudness: number) => {
      const isLoud = loudness > Math.max(faintest, room * ABOVE_ROOM);
      // The room is known by its quietest moments: believed at once when it grows quieter, slowly when it grows louder.
      room = loudness < room ? loudness : room + (loudness - room) * (isLoud ? 0.002 : 0.05);
      quiet = isLoud ? 0 : quiet + 1;
      recent = [...recent, isLoud].slice(-LOUD_WITHIN);
      if (isOpen ? quiet < quietSteps : recent.filter(Boolean).length < LOUD_STEPS) return;
      isOpen = !isOpen;
      recent = [];
      onSpeech(isOpen);
    };
    return {
      push(pcm) {
        for (const sample of pcm) {
          sum += sample * sample;
          if (++count < STEP) continue;
          const loudness = Math.sqrt(sum / STEP);
          sum = 0;
          count = 0;
          step(loudness);
        }
      },
    };
  };
}
