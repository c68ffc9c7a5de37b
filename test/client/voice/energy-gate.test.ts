import { readFileSync } from 'node:fs';
import { energyGate } from 'duologue/client/voice';
import { describe, expect, test } from 'vitest';

const RATE = 16_000;
const clip = (name: string) => {
  const bytes = readFileSync(new URL(`../../demo/voice/clips/${name}.wav`, import.meta.url)).subarray(44);
  return new Int16Array(new Uint8Array(bytes).buffer);
};
const silence = (ms: number) => new Int16Array((RATE * ms) / 1000);
/** Hiss that looks random and is the same every time. */
function hiss(ms: number, loudness: number): Int16Array {
  let state = 1;
  return silence(ms).map(() => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state / 2 ** 31 - 1) * loudness;
  });
}

/** When the gate says that somebody speaks and has ended, in milliseconds, for sound in pieces of 20. */
function times(sounds: Int16Array[], options?: Parameters<typeof energyGate>[0]): [boolean, number][] {
  const all = Int16Array.from(sounds.flatMap((one) => [...one]));
  const found: [boolean, number][] = [];
  let at = 0;
  const gate = energyGate(options)((isSpeech) => found.push([isSpeech, (at / RATE) * 1000]));
  for (; at < all.length; at += 320) gate.push(all.subarray(at, at + 320));
  return found;
}

describe('the energy gate', () => {
  test.each(['weather', 'payment'])('hears where "%s" begins and ends', (name) => {
    const speech = clip(name);
    const length = (speech.length / RATE) * 1000;
    const [begin, end, ...more] = times([silence(1000), speech, silence(1500)]);
    expect(more).toEqual([]);
    expect(begin?.[0]).toBe(true);
    expect(begin?.[1]).toBeLessThan(1000 + 300);
    expect(end?.[0]).toBe(false);
    expect(end?.[1]).toBeGreaterThan(1000 + length - 400);
    expect(end?.[1]).toBeLessThan(1000 + length + 700 + 150);
  });

  test('takes neither silence nor steady noise for speech, and hears speech above it', () => {
    expect(times([silence(5000)])).toEqual([]);
    expect(times([hiss(5000, 500)])).toEqual([]);
    const found = times([hiss(2000, 300), clip('weather'), hiss(2000, 300)]);
    expect(found.map(([isSpeech]) => isSpeech)).toEqual([true, false]);
  });

  test('is as sensitive as it is told to be', () => {
    const quiet = clip('weather').map((sample) => sample / 24);
    const sounds = [silence(500), quiet, silence(1500)];
    expect(times(sounds, { sensitivity: 0 })).toEqual([]);
    expect(times(sounds, { sensitivity: 1 }).length).toBeGreaterThanOrEqual(2);
  });
});
