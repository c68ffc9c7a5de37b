import { energyGate } from 'duologue/client/voice';
import { describe, expect, test } from 'vitest';
import { clips, samplesOf } from '../../demo/voice/support/clips.ts';
import { foundIn } from '../../support/detection.ts';
import { clicks, pinkNoise, silence, typing, whiteNoise } from '../../support/noises.ts';

const QUIET_MS = 700;
const SLACK_MS = 150;
const find = (sounds: Int16Array[], options?: Parameters<typeof energyGate>[0]) =>
  foundIn(energyGate(options), sounds);

describe('the energy gate', () => {
  test.each(clips())('hears within $file where speech begins and where it ends', async (clip) => {
    const found = await find([silence(1000), samplesOf(clip.file), silence(1500)]);
    expect(found.map(({ isSpeech }) => isSpeech)).toEqual([true, false]);
    const [begin, end] = found.map(({ atMs }) => atMs - 1000);
    expect(begin).toBeGreaterThanOrEqual(clip.fromMs - 20);
    expect(begin).toBeLessThanOrEqual(clip.fromMs + SLACK_MS);
    expect(end).toBeGreaterThanOrEqual(clip.toMs);
    expect(end).toBeLessThanOrEqual(clip.toMs + QUIET_MS + SLACK_MS);
  });

  test.each<[string, Int16Array]>([
    ['silence', silence(5000)],
    ['white noise', whiteNoise(5, 2000)],
    ['loud white noise', whiteNoise(5, 8000)],
    ['pink noise', pinkNoise(5, 2000)],
    ['loud pink noise', pinkNoise(5, 8000)],
    ['clicks', clicks(5, 20_000)],
    ['typing', typing(5, 8000)],
  ])('takes no %s for speech', async (_what, noise) => {
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
