/** Sound without speech, at 16 kHz, the same every time. */

const RATE = 16_000;

/** Numbers from -1 to 1 that look random. */
function dice(seed = 1): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

/** Samples from -1 to 1 as 16 bits, as loud as that in the root of the mean square of 32,767. */
function pcm(samples: Float64Array, loudness: number): Int16Array {
  const power = samples.reduce((sum, one) => sum + one * one, 0) / samples.length;
  const scale = loudness / Math.sqrt(power);
  return Int16Array.from(samples, (one) => Math.max(-32_767, Math.min(32_767, one * scale)));
}

const samples = (seconds: number) => new Float64Array(RATE * seconds);

/** Silence. */
export const silence = (ms: number): Int16Array => new Int16Array((RATE * ms) / 1000);

/** As of a radio between two stations. */
export function whiteNoise(seconds: number, loudness: number): Int16Array {
  const roll = dice();
  return pcm(
    samples(seconds).map(() => roll()),
    loudness,
  );
}

/** As of rain or a fan: the lower, the louder. */
export function pinkNoise(seconds: number, loudness: number): Int16Array {
  const roll = dice();
  const b = [0, 0, 0];
  return pcm(
    samples(seconds).map(() => {
      const white = roll();
      // Three low-passes side by side come close to 3 dB an octave.
      b[0] = 0.997_65 * (b[0] ?? 0) + white * 0.099_046;
      b[1] = 0.963 * (b[1] ?? 0) + white * 0.296_516_4;
      b[2] = 0.57 * (b[2] ?? 0) + white * 1.052_691_3;
      return b[0] + b[1] + b[2] + white * 0.1848;
    }),
    loudness,
  );
}

/** A knock of a few milliseconds every half second. */
export function clicks(seconds: number, peak: number): Int16Array {
  const roll = dice();
  return Int16Array.from(samples(seconds), (_, i) => {
    const at = i % (RATE / 2);
    return at < RATE / 50 ? roll() * peak * Math.exp(-at / (RATE / 500)) : 0;
  });
}

/** The sound of typing, ten keys a second: each goes down with a knock, and comes up with a softer one. */
export function typing(seconds: number, peak: number): Int16Array {
  const roll = dice(7);
  const found = samples(seconds);
  for (let key = 0.05; key < seconds - 0.2; key += 0.1 + 0.03 * roll()) {
    for (const [delay, loudness] of [
      [0, 1],
      [0.045, 0.4],
    ] as const) {
      const begin = Math.round((key + delay) * RATE);
      const hertz = 2500 + 500 * roll();
      for (let i = 0; i < RATE / 50; i++) {
        const fade = Math.exp(-i / (RATE / 250));
        const ring = 0.5 * Math.sin((2 * Math.PI * hertz * i) / RATE) + 0.5 * roll();
        found[begin + i] = (found[begin + i] ?? 0) + loudness * fade * ring;
      }
    }
  }
  return Int16Array.from(found, (one) => one * peak);
}

/** Four chords, plucked note by note over a bass. */
export function music(seconds: number, loudness: number): Int16Array {
  const found = samples(seconds);
  const chords = [
    [220, 261.6, 329.6],
    [174.6, 220, 261.6],
    [196, 246.9, 293.7],
    [164.8, 207.7, 246.9],
  ];
  const pluck = (hertz: number, at: number, length: number, strength: number) => {
    const begin = Math.round(at * RATE);
    for (let i = 0; i < length * RATE && begin + i < found.length; i++) {
      const phase = (2 * Math.PI * hertz * i) / RATE;
      const tone = Math.sin(phase) + 0.4 * Math.sin(2 * phase) + 0.2 * Math.sin(3 * phase);
      const fade = Math.min(1, i / 80) * Math.exp(-i / (RATE * 0.5));
      found[begin + i] = (found[begin + i] ?? 0) + strength * fade * tone;
    }
  };
  for (let beat = 0; beat * 0.25 < seconds; beat++) {
    const chord = chords[(beat >> 3) % chords.length] ?? [];
    pluck((chord[beat % 3] ?? 220) * 2, beat * 0.25, 1.5, 0.5);
    if (beat % 4 === 0) pluck((chord[0] ?? 220) / 2, beat * 0.25, 2, 1);
  }
  return pcm(found, loudness);
}
