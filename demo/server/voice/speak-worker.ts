/** A worker thread for text-to-speech: eSpeak NG, resampled to 24 kHz. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

interface Speaker {
  samplerate: number;
  set_voice(name: string, language: string): number;
  /** Calls back with pieces of audio before it returns; a callback that returns `true` stops it. */
  synthesize(text: string, take: (samples: Int16Array) => boolean): void;
}

const RATE = 24_000;
const { folder } = workerData as { folder: string };
// A failed load ends the thread with its error; the next job starts another thread.
const speaker = await load();

parentPort?.on('message', (text: string) => {
  try {
    speak(text);
    parentPort?.postMessage({ end: true });
  } catch (error) {
    parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
});

async function load(): Promise<Speaker> {
  const file = pathToFileURL(join(folder, 'espeak-ng-emscripten-0.3.5', 'espeak-ng.js')).href;
  const { default: create } = (await import(file)) as {
    default: () => Promise<{ eSpeakNGWorker: new () => Speaker }>;
  };
  const { eSpeakNGWorker } = await create();
  return new eSpeakNGWorker();
}

function speak(text: string): void {
  const language = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u.test(text) ? 'ja' : 'en-us';
  speaker.set_voice(language, language);
  const resample = resampler(speaker.samplerate, RATE);
  speaker.synthesize(text, (samples) => {
    if (samples.length > 0) parentPort?.postMessage({ value: resample(samples) });
    return false;
  });
}

/** Resamples by linear interpolation, which is good enough for speech from 22 to 24 kHz. */
function resampler(from: number, to: number): (samples: Int16Array) => Int16Array {
  const step = from / to;
  let last = 0;
  /** The position of the next sample, relative to the last sample of the previous piece. */
  let position = 1;
  return (samples) => {
    const out: number[] = [];
    for (; position <= samples.length; position += step) {
      const index = Math.floor(position) - 1;
      const before = index < 0 ? last : (samples[index] ?? 0);
      const after = samples[index + 1] ?? before;
      out.push(Math.round(before + (after - before) * (position - 1 - index)));
    }
    position -= samples.length;
    last = samples.at(-1) ?? last;
    return Int16Array.from(out);
  };
}
