import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchPart } from '../../demo/server/voice/fetch-part.ts';
import { DETECTOR } from '../../demo/server/voice/parts.ts';
import { type Runtime, silero } from '../../demo/web/src/voice/silero.ts';
import type { DetectSpeech } from '../../src/client/voice/index.ts';
import { clips, samplesOf } from '../demo/voice/support/clips.ts';
import { type Found, findsSpeech, foundIn, NOISES } from '../support/detection.ts';
import { music, silence, whiteNoise } from '../support/noises.ts';

/** How long a pause ends speech. */
const PAUSE_MS = 500;
/** As the settings of the page have it by default. */
const MEDIUM = 0.5;

const folder = mkdtempSync(join(tmpdir(), 'voice-detection-'));
let detect: (sensitivity: number) => DetectSpeech;
/** What the model was asked, one after the other. */
let looked: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  const registry = process.env.npm_config_registry || 'https://registry.npmjs.org/';
  const { signal } = new AbortController();
  for (const part of DETECTOR) await fetchPart(part, { folder, registry, signal, onBytes: () => undefined });
  const dist = pathToFileURL(join(folder, 'onnxruntime-web-1.21.1/dist/')).href;
  const runtime = (await import(`${dist}ort.wasm.bundle.min.mjs`)) as Runtime;
  const { create } = runtime.InferenceSession;
  const watched: Runtime = {
    ...runtime,
    InferenceSession: {
      async create(bytes) {
        const model = await create.call(runtime.InferenceSession, bytes);
        return {
          run(feeds) {
            const run = model.run(feeds);
            looked = run;
            return run;
          },
        };
      },
    },
  };
  const model = readFileSync(join(folder, 'vad-web-0.0.31/dist/silero_vad_v5.onnx'));
  detect = await silero(watched, dist, new Uint8Array(model));
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What it finds, with time enough to look at everything. */
function find(...sounds: Int16Array[]): Promise<Found[]> {
  return foundIn(detect(MEDIUM), sounds, async () => {
    // Once for the frame to be begun with, and once for what follows from it.
    await new Promise(setImmediate);
    await looked;
    await new Promise(setImmediate);
  });
}

describe('the detector that knows voices', () => {
  test.each(clips())('hears within $file where speech begins and where it ends', async (clip) => {
    await findsSpeech((sounds) => find(...sounds), clip, { pauseMs: PAUSE_MS });
  });

  test.each<[string, Int16Array]>([...NOISES, ['music', music(8, 3000)]])(
    'takes no %s for speech',
    async (_what, noise) => {
      expect(await find(silence(500), noise)).toEqual([]);
    },
  );

  test('hears a quiet voice, and one in noise', async () => {
    const quiet = samplesOf('weather.wav').map((sample) => sample / 16);
    expect(await find(silence(500), quiet, silence(1500))).toHaveLength(2);
    const speech = samplesOf('weather.wav');
    const noise = whiteNoise(4, 600);
    const mixed = noise.map((one, i) => Math.max(-32_767, Math.min(32_767, one + (speech[i - 16_000] ?? 0))));
    expect(await find(mixed)).toHaveLength(2);
  });
});
