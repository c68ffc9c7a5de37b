import type { DetectSpeech } from '../../src/client/voice/index.ts';

const RATE = 16_000;
/** 20 ms: as a microphone gives it. */
const PIECE = 320;

/** What a detector said, and how much sound it had heard by then. */
export interface Found {
  isSpeech: boolean;
  atMs: number;
}

/** What a detector finds in sound. `caughtUp` resolves when it has looked at all that it was given. */
export async function foundIn(
  detect: DetectSpeech,
  sounds: readonly Int16Array[],
  caughtUp: () => Promise<void> = () => Promise.resolve(),
): Promise<Found[]> {
  const all = new Int16Array(sounds.reduce((sum, { length }) => sum + length, 0));
  let filled = 0;
  for (const sound of sounds) {
    all.set(sound, filled);
    filled += sound.length;
  }
  const found: Found[] = [];
  let heard = 0;
  const detector = detect((isSpeech) => found.push({ isSpeech, atMs: (heard / RATE) * 1000 }));
  while (heard < all.length) {
    const piece = all.subarray(heard, heard + PIECE);
    heard += piece.length;
    detector.push(piece);
    await caughtUp();
  }
  detector.close?.();
  return found;
}
