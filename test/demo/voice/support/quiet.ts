import { pinkNoise } from '../../../support/noises.ts';
import { type Clip, samplesOf } from './clips.ts';

const MS = 16;
const LOUDEST = 32_767;

/** The speech of a clip, without what stands before and after it. */
export function speechOf({ file, fromMs, toMs }: Clip): Int16Array {
  return samplesOf(file).slice(fromMs * MS, toMs * MS);
}

/** Speech with quiet before and after it, in silence (`room: null`) or in a room of so many decibels below full scale. */
export function inARoom(
  speech: Int16Array,
  { room, before, after }: { room: number | null; before: number; after: number },
): Int16Array {
  const sound = new Int16Array(speech.length + (before + after) * MS);
  sound.set(speech, before * MS);
  if (room === null) return sound;
  const noise = pinkNoise(Math.ceil(sound.length / 16_000), LOUDEST * 10 ** (room / 20));
  return sound.map((sample, at) => Math.max(-LOUDEST, Math.min(LOUDEST, sample + (noise[at] ?? 0))));
}
