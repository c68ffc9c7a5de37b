import { describe, expect, test } from 'vitest';
import { PlayoutBuffer } from '../../../src/client/audio/pcm-player-processor.ts';

const RATE = 24_000;
const BLOCK = 128;
const ms = (samples: number) => (samples / RATE) * 1000;

/** Numbers that look random and are the same every time. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A sound whose neighbours are near each other, and whose pieces do not end in silence by chance. */
const HERTZ = 97;
const sampleAt = (at: number) => 0.9 * Math.sin((2 * Math.PI * HERTZ * at) / RATE);
const STEEPEST = 0.9 * ((2 * Math.PI * HERTZ) / RATE);
const FADE = 120;

const sound = (at: number, length: number) => Float32Array.from({ length }, (_, i) => sampleAt(at + i));

interface Arrival {
  at: number;
  samples: number;
  /** When it comes, in samples of the clock. */
  time: number;
  n?: number;
}

/** Plays what arrives on a clock of blocks: what was heard, and the delay of every block that was. */
function simulate(arrivals: Arrival[], blocks: number, maxSeconds = 180) {
  const buffer = new PlayoutBuffer(RATE, maxSeconds);
  const heard: number[] = [];
  const delays: number[] = [];
  const places: number[] = [];
  let next = 0;
  for (let block = 0; block < blocks; block++) {
    const now = block * BLOCK;
    for (; (arrivals[next]?.time ?? Number.POSITIVE_INFINITY) <= now; next++) {
      const { n = 1, at, samples } = arrivals[next] ?? { at: 0, samples: 0 };
      buffer.push(n, at, sound(at, samples));
    }
    const out = new Float32Array(BLOCK);
    const before = buffer.place?.at ?? 0;
    buffer.read(out);
    for (const sample of out) heard.push(sample);
    const place = buffer.place?.at ?? 0;
    places.push(place);
    if (place !== before) delays.push(now + BLOCK - place);
  }
  return { buffer, heard, delays, places };
}

/** The steepest step between two samples. */
const click = (heard: number[]) =>
  heard.reduce((worst, sample, i) => Math.max(worst, Math.abs(sample - (heard[i - 1] ?? 0))), 0);
const SMOOTH = STEEPEST + 1 / FADE + 1e-6;

/** Pieces of a sound that is made in real time, each late by up to so much, in order. */
function late(seconds: number, pieceMs: number, lateMs: number, seed: number): Arrival[] {
  const roll = dice(seed);
  const samples = (RATE * pieceMs) / 1000;
  let last = 0;
  return Array.from({ length: (seconds * 1000) / pieceMs }, (_, i) => {
    last = Math.max(last, (i + 1) * samples + (roll() * lateMs * RATE) / 1000);
    return { at: i * samples, samples, time: last };
  });
}

describe('the buffer between network and loudspeaker', () => {
  test('sound starts with the first piece', () => {
    const buffer = new PlayoutBuffer(RATE, 10);
    const out = new Float32Array(BLOCK);
    buffer.read(out);
    expect(buffer.isPlaying).toBe(false);
    buffer.push(1, 0, sound(0, 480));
    buffer.read(out);
    expect(buffer.isPlaying).toBe(true);
    expect(buffer.place).toEqual({ n: 1, at: BLOCK });
    expect(Math.max(...out)).toBeGreaterThan(0);
  });

  test('what comes at once is played as it is, but for the fades', () => {
    const { heard } = simulate([{ at: 0, samples: 24_000, time: 0 }], 200);
    const whole = sound(0, 24_000);
    const difference = whole.map((sample, i) => Math.abs(sample - (heard[i] ?? 0)));
    expect(Math.max(...difference.subarray(FADE, 24_000 - FADE))).toBeLessThan(1e-6);
    expect(click(heard)).toBeLessThan(SMOOTH);
  });

  test.each(
    [20, 40, 100].flatMap((pieceMs) =>
      [0, 30, 100, 200].flatMap((lateMs) => [1, 2].map((seed) => [pieceMs, lateMs, seed] as const)),
    ),
  )(
    'pieces of %i ms, late by up to %i ms (%i): no clicks, nothing lost, bounded delay',
    (pieceMs, lateMs, seed) => {
      const seconds = 6;
      const { heard, delays, places, buffer } = simulate(
        late(seconds, pieceMs, lateMs, seed),
        ((seconds + 1) * RATE) / BLOCK,
      );
      expect(click(heard)).toBeLessThan(SMOOTH);
      expect(buffer.place).toEqual({ n: 1, at: seconds * RATE });
      expect(places).toEqual([...places].sort((a, b) => a - b));
      expect(ms(Math.max(...delays))).toBeLessThan(pieceMs + lateMs + 120);
      // It learns: without patience sound breaks off eight times and more.
      expect(buffer.gaps).toBeLessThanOrEqual(5);
    },
  );

  test('patience goes away again when nothing is late any more', () => {
    const rough = late(4, 20, 200, 7);
    const smooth = late(50, 20, 0, 7).map(({ at, samples, time }) => ({
      n: 2,
      at,
      samples,
      time: time + 10 * RATE,
    }));
    const again = { n: 3, at: 0, samples: 480, time: 80 * RATE };
    const { buffer, heard } = simulate([...rough, ...smooth, again], (81 * RATE) / BLOCK);
    expect(buffer.place).toEqual({ n: 3, at: 480 });
    const silent = heard.slice(80 * RATE).findIndex((sample) => sample !== 0);
    expect(ms(silent)).toBeLessThan(60);
  });

  test('a lost connection that goes on where it was: nothing is heard twice', () => {
    const arrivals = [
      { at: 0, samples: 12_000, time: 0 },
      { at: 12_000, samples: 2400, time: 12_000 },
      // The last second comes again, and then what follows it.
      { at: 0, samples: 14_400, time: 40_000 },
      { at: 7200, samples: 14_400, time: 41_000 },
    ];
    const { places, heard, buffer } = simulate(arrivals, 600);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(heard.filter((sample) => sample !== 0).length).toBeLessThanOrEqual(21_600);
    expect(click(heard)).toBeLessThan(SMOOTH);
    expect(buffer.place).toEqual({ n: 1, at: 21_600 });
  });

  test('a lost connection after which something is missing: one clear jump, without a click', () => {
    const arrivals = [
      { at: 0, samples: 12_030, time: 0 },
      { at: 36_077, samples: 12_000, time: 6000 },
    ];
    const { heard, buffer } = simulate(arrivals, 300);
    expect(click(heard)).toBeLessThan(SMOOTH);
    expect(buffer.place).toEqual({ n: 1, at: 48_077 });
    expect(buffer.gaps).toBe(1);
  });

  test('whoever interrupts hears nothing more after 50 ms, and the place is where hearing ended', () => {
    const buffer = new PlayoutBuffer(RATE, 180);
    buffer.push(1, 0, sound(0, 10 * RATE));
    const heard: number[] = [];
    const out = new Float32Array(BLOCK);
    const read = (blocks: number) => {
      for (let i = 0; i < blocks; i++) {
        buffer.read(out);
        heard.push(...out);
      }
    };
    read(100);
    buffer.flush();
    read(10);
    expect(ms(heard.length - 100 * BLOCK)).toBeGreaterThan(50);
    const last = heard.findLastIndex((sample) => sample !== 0);
    expect(ms(last - 100 * BLOCK)).toBeLessThan(10);
    expect(buffer.place?.at).toBe(100 * BLOCK + FADE);
    expect(last).toBeLessThan(100 * BLOCK + FADE);
    expect(click(heard)).toBeLessThan(SMOOTH);
    // What still comes of that answer is dropped; the next one is heard.
    buffer.push(1, 10 * RATE, sound(0, RATE));
    read(1);
    expect(buffer.queued).toBe(0);
    buffer.push(2, 0, sound(0, RATE));
    read(1);
    expect(buffer.place).toEqual({ n: 2, at: BLOCK });
    expect(buffer.gaps).toBe(0);
  });

  test('the end of an utterance waits for nothing and counts as no gap', () => {
    const buffer = new PlayoutBuffer(RATE, 180);
    const out = new Float32Array(BLOCK);
    buffer.push(1, 0, sound(0, 256));
    buffer.end(1);
    for (let i = 0; i < 5; i++) buffer.read(out);
    expect(buffer).toMatchObject({ gaps: 0, isPlaying: false, place: { n: 1, at: 256 } });
  });

  test('more sound than may wait pushes out the oldest, without a click', () => {
    const arrivals = Array.from({ length: 50 }, (_, i) => ({ at: i * 2400, samples: 2400, time: i * 10 }));
    const { heard, buffer } = simulate(arrivals, 600, 1);
    expect(click(heard)).toBeLessThan(SMOOTH);
    expect(buffer.place).toEqual({ n: 1, at: 120_000 });
    expect(heard.filter((sample) => sample !== 0).length).toBeLessThan(2 * RATE);
    const asleep = new PlayoutBuffer(RATE, 1);
    for (const { at, samples } of arrivals) asleep.push(1, at, sound(at, samples));
    expect(asleep.queued).toBe(RATE);
  });
});
