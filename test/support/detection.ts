import { expect } from 'vitest';
import type { DetectSpeech } from '../../src/client/voice/index.ts';
import { type clips, samplesOf } from '../demo/voice/support/clips.ts';
import { clicks, pinkNoise, silence, typing, whiteNoise } from './noises.ts';

const RATE = 16_000;
/** 20 ms: as a microphone gives it. */
const PIECE = 320;

/** An event of a detector, and the amount of audio it had received by then. */
export interface Found {
  isSpeech: boolean;
  atMs: number;
}

/** The events that a detector reports for audio. `caughtUp` resolves when it has processed all of its input. */
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

/** How far off a beginning or an end may be. */
const SLACK_MS = 150;

/** Sounds that no detector may report as speech. */
export const NOISES: [string, Int16Array][] = [
  ['silence', silence(5000)],
  ['white noise', whiteNoise(5, 2000)],
  ['loud white noise', whiteNoise(5, 8000)],
  ['pink noise', pinkNoise(5, 2000)],
  ['loud pink noise', pinkNoise(5, 8000)],
  ['clicks', clicks(5, 20_000)],
  ['typing', typing(5, 8000)],
];

/**
 * A detector finds where the speech of a labelled clip begins and ends. `earlyMs`: how long before its label it may begin;
 * `pauseMs`: how long a pause ends speech.
 */
export async function findsSpeech(
  find: (sounds: Int16Array[]) => Promise<Found[]>,
  clip: ReturnType<typeof clips>[number],
  { earlyMs = SLACK_MS, pauseMs }: { earlyMs?: number; pauseMs: number },
): Promise<void> {
  const found = await find([silence(1000), samplesOf(clip.file), silence(1500)]);
  expect(found.map(({ isSpeech }) => isSpeech)).toEqual([true, false]);
  const [begin, end] = found.map(({ atMs }) => atMs - 1000);
  expect(begin).toBeGreaterThanOrEqual(clip.fromMs - earlyMs);
  expect(begin).toBeLessThanOrEqual(clip.fromMs + SLACK_MS);
  expect(end).toBeGreaterThanOrEqual(clip.toMs);
  expect(end).toBeLessThanOrEqual(clip.toMs + pauseMs + SLACK_MS);
}
