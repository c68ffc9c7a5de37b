import { describe, expect, test } from 'vitest';
import {
  convertFloat32ToPCM16,
  convertPCM16ToFloat32,
  encodeWav,
  pcm16Of,
} from '../../../src/client/audio/pcm.ts';
import { Resampler } from '../../../src/client/audio/pcm-recorder-processor.ts';

const sine = (hertz: number, rate: number, seconds = 0.2) =>
  Float32Array.from({ length: rate * seconds }, (_, i) => 0.8 * Math.sin((2 * Math.PI * hertz * i) / rate));

/** Sound through a resampler, in the blocks of a worklet. */
function resampled(sound: Float32Array, from: number, to: number, block = 128): Float32Array {
  const resampler = new Resampler(from, to);
  const pieces: Float32Array[] = [];
  for (let i = 0; i < sound.length; i += block) pieces.push(resampler.push(sound.subarray(i, i + block)));
  pieces.push(resampler.end());
  return Float32Array.from(pieces.flatMap((piece) => [...piece]));
}

const power = (sound: Float32Array) => sound.reduce((sum, sample) => sum + sample * sample, 0) / sound.length;
/** The middle, where the sound has neither beginning nor end. */
const middle = (sound: Float32Array) => sound.subarray(sound.length >> 2, (sound.length * 3) >> 2);

describe('the resampler', () => {
  test.each(
    [16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000, 192_000].flatMap((rate) =>
      [50, 440, 1000, 3333, 5000, 6999].map((hertz) => [rate, hertz] as const),
    ),
  )('makes of a sine at %i Hz the same sine of %i Hz at 16 kHz, 60 dB above all else', (rate, hertz) => {
    const out = resampled(sine(hertz, rate), rate, 16_000);
    const ideal = sine(hertz, 16_000);
    expect(out).toHaveLength(ideal.length);
    const error = out.map((sample, i) => sample - (ideal[i] ?? 0));
    expect(10 * Math.log10(power(middle(ideal)) / power(middle(error)))).toBeGreaterThan(60);
  });

  test.each(
    [22_050, 24_000, 44_100, 48_000, 96_000].flatMap((rate) =>
      [8100, 9000, 10_500, 15_900, 17_000, 23_000, 40_000]
        .filter((hertz) => hertz < rate / 2)
        .map((hertz) => [rate, hertz] as const),
    ),
  )('of sound at %i Hz lets nothing of %i Hz through', (rate, hertz) => {
    const sound = sine(hertz, rate);
    const out = resampled(sound, rate, 16_000);
    expect(10 * Math.log10(power(middle(out)) / power(sound))).toBeLessThan(-60);
  });

  test('raises a rate as well', () => {
    const ideal = sine(3000, 24_000);
    const error = resampled(sine(3000, 8000), 8000, 24_000).map((sample, i) => sample - (ideal[i] ?? 0));
    expect(10 * Math.log10(0.32 / power(middle(error)))).toBeGreaterThan(60);
  });

  test.each([1, 7, 100, 128, 1000])('gives the same however the sound is cut: in pieces of %i', (block) => {
    const sound = sine(777, 44_100, 0.1);
    expect(resampled(sound, 44_100, 16_000, block)).toEqual(resampled(sound, 44_100, 16_000, sound.length));
  });

  test('keeps a constant as it is at every place between two samples', () => {
    const out = middle(resampled(new Float32Array(44_100).fill(0.5), 44_100, 16_000));
    expect(Math.max(...out) - Math.min(...out)).toBeLessThan(1e-6);
  });
});

describe('16-bit PCM', () => {
  test.each([
    [0, 0],
    [1, 32_767],
    [-1, -32_767],
    [1.5, 32_767],
    [-7, -32_767],
    [0.5, 16_384],
    [Number.NaN, 0],
    [Number.POSITIVE_INFINITY, 32_767],
  ])('a sample of %f is %i', (sample, pcm) => {
    expect([...convertFloat32ToPCM16(new Float32Array([sample]))]).toEqual([pcm]);
  });

  test('every value comes back within one bit', () => {
    const all = Int16Array.from({ length: 65_536 }, (_, i) => i - 32_768);
    const back = convertFloat32ToPCM16(convertPCM16ToFloat32(all));
    expect(Math.max(...back.map((value, i) => Math.abs(value - (all[i] ?? 0))))).toBeLessThanOrEqual(1);
  });

  test('is read from bytes at odd places, and half a sample is left out', () => {
    const bytes = new Uint8Array([9, 1, 0, 255, 255, 7]);
    expect([...pcm16Of(bytes.subarray(1))]).toEqual([1, -1]);
    expect([...pcm16Of(bytes.slice(1))]).toEqual([1, -1]);
  });

  test('is a WAV file behind its header', () => {
    const bytes = encodeWav([Int16Array.of(1, -1), Int16Array.of(2)], 24_000);
    const view = new DataView(bytes.buffer);
    expect(new TextDecoder().decode(bytes.subarray(0, 4))).toBe('RIFF');
    expect(new TextDecoder().decode(bytes.subarray(8, 16))).toBe('WAVEfmt ');
    expect([view.getUint32(4, true), view.getUint32(24, true), view.getUint32(40, true)]).toEqual([
      42, 24_000, 6,
    ]);
    expect([...pcm16Of(bytes.subarray(44))]).toEqual([1, -1, 2]);
  });
});
