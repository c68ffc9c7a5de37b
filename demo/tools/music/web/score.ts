/** One note: its start and its length in beats, its pitch as a MIDI number, and its loudness from 0 to 1. */
export interface Note {
  at: number;
  beats: number;
  pitch: number;
  loudness: number;
}

/** How a voice sounds. */
export type Instrument = 'pad' | 'pluck' | 'keys' | 'bass' | 'brush' | 'kick';

/** A piece of music that repeats. */
export interface Score {
  beatsPerMinute: number;
  /** The length in beats, after which the piece repeats. */
  beats: number;
  voices: readonly { instrument: Instrument; gain: number; notes: readonly Note[] }[];
}

/** The track numbers that the agent may ask for. */
export type TrackNumber = 1 | 2;

/** The two pieces, written for this page. */
export const SCORES: Readonly<Record<TrackNumber, Score>> = { 1: slowMorning(), 2: nightTram() };

/** Long chords in D major, with a slow melody. */
function slowMorning(): Score {
  const chords = [
    [50, 57, 62, 66, 69],
    [47, 54, 62, 66, 71],
    [43, 55, 59, 62, 66],
    [45, 52, 57, 61, 64],
  ];
  const melody: [at: number, pitch: number, loudness: number][] = [
    [0.5, 78, 0.5],
    [1.5, 81, 0.4],
    [3, 76, 0.45],
    [4.5, 74, 0.5],
    [6, 73, 0.35],
    [7, 71, 0.4],
    [8.5, 74, 0.5],
    [9.5, 79, 0.4],
    [11, 78, 0.45],
    [12.5, 76, 0.5],
    [14, 73, 0.4],
    [15, 69, 0.35],
    [16.5, 78, 0.5],
    [17, 81, 0.35],
    [18, 83, 0.45],
    [19.5, 81, 0.4],
    [20.5, 78, 0.45],
    [22, 74, 0.4],
    [24.5, 71, 0.45],
    [25.5, 74, 0.4],
    [26.5, 76, 0.45],
    [28.5, 73, 0.4],
    [29.5, 76, 0.35],
    [30.5, 69, 0.4],
  ];
  return {
    beatsPerMinute: 66,
    beats: 32,
    voices: [
      { instrument: 'pad', gain: 0.5, notes: spread(chords, 4, 4.6, 0.5, 2) },
      { instrument: 'bass', gain: 0.4, notes: roots(chords, [0], 3.6, 2) },
      {
        instrument: 'pluck',
        gain: 0.55,
        notes: melody.map(([at, pitch, loudness]) => ({ at, beats: 2, pitch, loudness })),
      },
    ],
  };
}

/** A slow two-step in E minor: soft keys off the beat, a walking bass, brushes. */
function nightTram(): Score {
  const chords = [
    [40, 55, 59, 62, 66],
    [45, 55, 60, 64, 67],
    [38, 54, 57, 60, 64],
    [43, 54, 59, 62, 66],
    [40, 55, 59, 62, 66],
    [36, 55, 59, 64, 67],
    [42, 52, 57, 60, 64],
    [47, 51, 57, 63, 66],
  ];
  const keys = chords.flatMap((chord, bar) =>
    [0, 1.5, 2.75].flatMap((beat, index) =>
      chord.slice(1).map((pitch, voice) => ({
        at: bar * 4 + beat + voice * 0.018,
        beats: index === 0 ? 1.2 : 0.9,
        pitch,
        loudness: index === 0 ? 0.42 : 0.3,
      })),
    ),
  );
  const melody: [at: number, pitch: number][] = [
    [2, 79],
    [3.5, 78],
    [5, 76],
    [7, 74],
    [9.5, 71],
    [11, 74],
    [13, 78],
    [14.5, 76],
    [18, 83],
    [19.5, 81],
    [20.5, 79],
    [23, 76],
    [25, 72],
    [26.5, 76],
    [29, 75],
    [30.5, 78],
  ];
  const beat = Array.from({ length: 32 }, (_, at) => at);
  return {
    beatsPerMinute: 84,
    beats: 32,
    voices: [
      { instrument: 'keys', gain: 0.5, notes: keys },
      { instrument: 'bass', gain: 0.62, notes: roots(chords, [0, 1.5, 2.5, 3.5], 0.9, 1) },
      {
        instrument: 'pluck',
        gain: 0.34,
        notes: melody.map(([at, pitch]) => ({ at, beats: 1.4, pitch, loudness: 0.45 })),
      },
      {
        instrument: 'brush',
        gain: 0.22,
        notes: beat.flatMap((at) => [
          { at, beats: 0.2, pitch: 0, loudness: at % 2 === 1 ? 0.9 : 0.35 },
          { at: at + 0.56, beats: 0.12, pitch: 0, loudness: 0.28 },
        ]),
      },
      {
        instrument: 'kick',
        gain: 0.5,
        notes: beat
          .filter((at) => at % 2 === 0)
          .map((at) => ({ at, beats: 0.3, pitch: 33, loudness: at % 4 === 0 ? 0.8 : 0.55 })),
      },
    ],
  };
}

/** The chords one after the other, `step` beats apart. The whole sequence is played `times` times. */
function spread(chords: number[][], step: number, beats: number, loudness: number, times: number): Note[] {
  return Array.from({ length: times }, (_, round) =>
    chords.flatMap((chord, index) =>
      chord.map((pitch) => ({ at: (round * chords.length + index) * step, beats, pitch, loudness })),
    ),
  ).flat();
}

/** The lowest note of each chord, at the beats `at` of its bar. The third of these notes is a fifth higher. */
function roots(chords: number[][], at: number[], beats: number, times: number): Note[] {
  return Array.from({ length: times }, (_, round) =>
    chords.flatMap(([root = 40], bar) =>
      at.map((beat, index) => ({
        at: (round * chords.length + bar) * 4 + beat,
        beats,
        pitch: index === 2 ? root + 7 : root,
        loudness: index === 0 ? 0.8 : 0.5,
      })),
    ),
  ).flat();
}
