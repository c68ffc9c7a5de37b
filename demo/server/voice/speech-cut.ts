/** At 16 kHz: loudness is measured in steps of 20 ms. */
const STEP = 320;
const SAMPLES_PER_MS = 16;
/** Quieter than this (root mean square, of 32,767) is silence, however quiet the rest of the recording is. */
const SILENCE = 40;
/** Speech is louder than this share of the loudest steps, unless the room is louder still. */
const OF_LOUDEST = 1 / 20;
/** Speech is this many times as loud as the room. A room never counts as louder than a third of the loudest steps. */
const ABOVE_ROOM = 2.5;
const LOUDEST_ROOM = 1 / 3;
/** The longest pause inside speech. Longer ones are shortened to it. */
const LONGEST_PAUSE_MS = 400;

/** How many milliseconds of the quiet around speech are kept. */
export interface Margins {
  beforeMs: number;
  afterMs: number;
}

/**
 * Removes quiet from a recording (16 kHz, mono): the quiet before and after the speech except for the margins, and all but 400 ms of each
 * pause inside it. Moonshine returns an empty text for many recordings that begin with a second of quiet. Without any speech the
 * recording is returned unchanged.
 */
export function cutToSpeech(sound: Int16Array, { beforeMs, afterMs }: Margins): Int16Array {
  const parts = speechIn(sound);
  const last = parts.length - 1;
  const pause = (LONGEST_PAUSE_MS / 2) * SAMPLES_PER_MS;
  const kept: Int16Array[] = [];
  let keptTo = 0;
  parts.forEach(({ from, to }, index) => {
    const start = Math.max(keptTo, from - (index === 0 ? beforeMs * SAMPLES_PER_MS : pause));
    keptTo = Math.min(sound.length, to + (index === last ? afterMs * SAMPLES_PER_MS : pause));
    kept.push(sound.subarray(start, keptTo));
  });
  return kept.length === 0 ? sound : joined(kept);
}

/** The stretches of speech, as positions of samples. A stretch has at least two loud steps in a row, and may contain short pauses. */
function speechIn(sound: Int16Array): { from: number; to: number }[] {
  const loudness = loudnessOf(sound);
  const sorted = [...loudness].sort((a, b) => a - b);
  const room = sorted[Math.floor(sorted.length * 0.1)] ?? 0;
  const loudest = sorted[Math.floor(sorted.length * 0.98)] ?? 0;
  const least = Math.max(SILENCE, loudest * OF_LOUDEST, Math.min(room * ABOVE_ROOM, loudest * LOUDEST_ROOM));
  const found: { from: number; to: number }[] = [];
  loudness.forEach((level, index) => {
    const isSpeech =
      level > least && ((loudness[index - 1] ?? 0) > least || (loudness[index + 1] ?? 0) > least);
    if (!isSpeech) return;
    const from = index * STEP;
    const before = found.at(-1);
    if (before && from - before.to <= LONGEST_PAUSE_MS * SAMPLES_PER_MS) before.to = from + STEP;
    else found.push({ from, to: from + STEP });
  });
  return found;
}

function loudnessOf(sound: Int16Array): number[] {
  const levels: number[] = [];
  for (let at = 0; at + STEP <= sound.length; at += STEP) {
    let sum = 0;
    for (let i = at; i < at + STEP; i++) sum += (sound[i] ?? 0) ** 2;
    levels.push(Math.sqrt(sum / STEP));
  }
  return levels;
}

function joined(pieces: readonly Int16Array[]): Int16Array {
  const whole = new Int16Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
