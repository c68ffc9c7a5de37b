import { expect, test } from 'vitest';
import { SpeechFrames } from '../src/voice/speech-frames.ts';

/** The indexes of the frames at which speech begins and ends. */
function found(likelihoods: number[], sensitivity = 0.5): [string, number][] {
  const frames = new SpeechFrames(sensitivity);
  return likelihoods.flatMap((likelihood, index): [string, number][] => {
    const happened = frames.push(likelihood);
    return happened ? [[happened, index]] : [];
  });
}
const frames = (count: number, likelihood: number) => Array.from({ length: count }, () => likelihood);

test.each<[string, number[], [string, number][]]>([
  ['silence is none', frames(100, 0.05), []],
  ['one frame alone is a click', [0, 0.8, 0, 0, 0.8, 0, 0], []],
  ['one that is certain is enough', [0, 0.95], [['begins', 1]]],
  ['two of three are speech', [0, 0.8, 0, 0.8], [['begins', 3]]],
  [
    'it ends half a second after the last of it',
    [...frames(10, 0.8), ...frames(20, 0)],
    [
      ['begins', 1],
      ['ends', 25],
    ],
  ],
  [
    'a short pause is a part of it',
    [...frames(4, 0.8), ...frames(15, 0), ...frames(4, 0.8)],
    [['begins', 1]],
  ],
  ['what is nearly speech goes on with it', [...frames(4, 0.8), ...frames(40, 0.4)], [['begins', 1]]],
])('%s', (_what, likelihoods, expected) => {
  expect(found(likelihoods)).toEqual(expected);
});

test('is as sensitive as it is told to be', () => {
  expect(found(frames(10, 0.4), 0.2)).toEqual([]);
  expect(found(frames(10, 0.4), 0.8)).toEqual([['begins', 1]]);
});
