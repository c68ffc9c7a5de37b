import { describe, expect, test } from 'vitest';
import { energyDetector } from '../../src/protocol/speech-detector.ts';
import { clips, samplesOf } from '../demo/voice/support/clips.ts';
import { findsSpeech, foundIn, NOISES } from '../support/detection.ts';
import { silence, whiteNoise } from '../support/noises.ts';

const QUIET_MS = 700;
const find = (sounds: Int16Array[], options?: Parameters<typeof energyDetector>[0]) =>
  foundIn(energyDetector(options), sounds);

describe('the energy detector', () => {
  test.each(clips())('hears within $file where speech begins and where it ends', async (clip) => {
    await findsSpeech(find, clip, { earlyMs: 20, pauseMs: QUIET_MS });
  });

  test.each(NOISES)('takes no %s for speech', async (_what, noise) => {
    expect(await find([noise])).toEqual([]);
    expect(await find([silence(2000), noise])).toEqual([]);
  });

  test('hears speech above noise', async () => {
    const noise = whiteNoise(6, 300);
    const speech = samplesOf('weather.wav');
    const mixed = noise.map((one, i) => one + (speech[i - 32_000] ?? 0) / 2);
    expect((await find([mixed])).map(({ isSpeech }) => isSpeech)).toEqual([true, false]);
  });

  test('hears a whisper when it is told to be sensitive', async () => {
    const whisper = whiteNoise(1, 600);
    const sounds = [silence(1000), whisper, silence(1500)];
    expect(await find(sounds)).toEqual([]);
    expect((await find(sounds, { sensitivity: 1 })).map(({ isSpeech }) => isSpeech)).toEqual([true, false]);
  });

  test('is as sensitive as it is told to be', async () => {
    const quiet = samplesOf('weather.wav').map((sample) => sample / 24);
    const sounds = [silence(500), quiet, silence(1500)];
    expect(await find(sounds, { sensitivity: 0 })).toEqual([]);
    expect((await find(sounds, { sensitivity: 1 })).length).toBeGreaterThanOrEqual(2);
  });
});
