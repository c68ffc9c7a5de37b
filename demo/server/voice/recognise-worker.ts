/** A worker thread for speech-to-text: Moonshine tiny, run by sherpa-onnx. */
import { renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

interface Stream {
  acceptWaveform(rate: number, samples: Float32Array): void;
  free(): void;
}
interface Recogniser {
  createStream(): Stream;
  decode(stream: Stream): void;
  getResult(stream: Stream): { text: string };
}
interface Engine {
  OfflineRecognizer: new (config: object, runtime: object) => Recogniser;
}

const RATE = 16_000;
const { folder } = workerData as { folder: string };
// A failed load ends the thread with its error; the next job starts another thread.
const recogniser = await load();

parentPort?.on('message', (sound: Int16Array) => {
  try {
    parentPort?.postMessage({ value: understand(sound) });
    parentPort?.postMessage({ end: true });
  } catch (error) {
    parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
});

async function load(): Promise<Recogniser> {
  const require = createRequire(import.meta.url);
  const engine = (file: string) => require(resolve(folder, 'sherpa-onnx-1.13.8', file));
  const runtime = {};
  engine('sherpa-onnx-wasm-nodejs.js')(runtime);
  const { OfflineRecognizer } = engine('sherpa-onnx-asr.js') as Engine;
  const weights = join(folder, 'moonshine-js-0.1.29', 'dist', 'model', 'tiny', 'quantized');
  const moonshine = {
    encoder: join(weights, 'encoder_model.onnx'),
    mergedDecoder: join(weights, 'decoder_model_merged.onnx'),
  };
  const tokens = await writeTokens();
  return new OfflineRecognizer({ modelConfig: { moonshine, tokens, numThreads: 1, debug: 0 } }, runtime);
}

/** The vocabulary as the engine reads it: the bytes of each token in base64, and its number. */
async function writeTokens(): Promise<string> {
  const vocabulary = pathToFileURL(join(folder, 'llama-tokenizer-js-1.2.2', 'llama-tokenizer.js')).href;
  const { default: tokenizer } = (await import(vocabulary)) as { default: { vocabById: readonly string[] } };
  const lines = tokenizer.vocabById.map((token, id) => `${bytesOf(token).toString('base64')} ${id}\n`);
  const file = join(folder, 'tokens.txt');
  // Writes the file atomically.
  writeFileSync(`${file}.new`, lines.join(''));
  renameSync(`${file}.new`, file);
  return file;
}

function bytesOf(token: string): Buffer {
  const byte = /^<0x([0-9A-F]{2})>$/.exec(token)?.[1];
  return byte === undefined ? Buffer.from(token.replaceAll('▁', ' ')) : Buffer.from(byte, 'hex');
}

function understand(sound: Int16Array): string {
  const stream = recogniser.createStream();
  try {
    stream.acceptWaveform(
      RATE,
      Float32Array.from(sound, (sample) => sample / 32_768),
    );
    recogniser.decode(stream);
    return recogniser.getResult(stream).text.trim();
  } finally {
    stream.free();
  }
}
