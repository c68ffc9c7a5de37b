/** A thread that understands speech: Moonshine tiny, run step by step. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

interface Tensor {
  data: Float32Array;
}
interface Session {
  run(feeds: Record<string, unknown>): Promise<Record<string, Tensor>>;
}
interface Runtime {
  env: { wasm: { numThreads: number; wasmPaths: string } };
  Tensor: new (type: string, data: unknown, dims: readonly number[]) => Tensor;
  InferenceSession: { create(model: Uint8Array): Promise<Session> };
}
interface Tokenizer {
  decode(tokens: readonly number[], begin: boolean, space: boolean): string;
}

const START = 1;
const STOP = 2;
const RATE = 16_000;
/** Tokens for each second of sound, at most: beyond it the model repeats itself. */
const TOKENS_A_SECOND = 6.5;

const { folder } = workerData as { folder: string };
const at = (...path: string[]) => pathToFileURL(join(folder, ...path)).href;
const ready = load();
ready.catch(() => undefined);

parentPort?.on('message', (sound: Int16Array) => {
  understand(sound).then(
    (text) => {
      parentPort?.postMessage({ value: text });
      parentPort?.postMessage({ end: true });
    },
    (error: unknown) =>
      parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) }),
  );
});

async function load() {
  const runtime = (await import(at('onnxruntime-web-1.30.0', 'dist', 'ort.wasm.bundle.min.mjs'))) as Runtime;
  runtime.env.wasm.numThreads = 1;
  runtime.env.wasm.wasmPaths = at('onnxruntime-web-1.30.0', 'dist/');
  const { default: tokenizer } = (await import(at('llama-tokenizer-js-1.2.2', 'llama-tokenizer.js'))) as {
    default: Tokenizer;
  };
  const model = (name: string) =>
    runtime.InferenceSession.create(
      readFileSync(join(folder, 'moonshine-js-0.1.29', 'dist', 'model', 'tiny', 'quantized', name)),
    );
  return {
    runtime,
    tokenizer,
    encoder: await model('encoder_model.onnx'),
    decoder: await model('decoder_model_merged.onnx'),
  };
}

async function understand(sound: Int16Array): Promise<string> {
  const { runtime, tokenizer, encoder, decoder } = await ready;
  const { Tensor } = runtime;
  const samples = Float32Array.from(sound, (sample) => sample / 32_768);
  const { last_hidden_state: heard } = await encoder.run({
    input_values: new Tensor('float32', samples, [1, samples.length]),
  });
  const cache: Record<string, unknown> = {};
  for (let layer = 0; layer < 6; layer++) {
    for (const side of ['decoder', 'encoder']) {
      for (const kind of ['key', 'value']) {
        cache[`past_key_values.${layer}.${side}.${kind}`] = new Tensor(
          'float32',
          new Float32Array(0),
          [0, 8, 1, 36],
        );
      }
    }
  }
  const tokens: number[] = [];
  const most = Math.trunc((samples.length / RATE) * TOKENS_A_SECOND) + 2;
  for (let token = START; tokens.length < most; ) {
    const isFirst = tokens.length === 0;
    const out = await decoder.run({
      input_ids: new Tensor('int64', BigInt64Array.of(BigInt(token)), [1, 1]),
      encoder_hidden_states: heard,
      use_cache_branch: new Tensor('bool', [!isFirst], [1]),
      ...cache,
    });
    token = likeliest(out.logits?.data ?? new Float32Array(0));
    if (token === STOP) break;
    tokens.push(token);
    for (const name of Object.keys(cache)) {
      // What was heard does not change: its part of the cache is made once.
      if (isFirst || name.includes('.decoder.'))
        cache[name] = out[name.replace('past_key_values', 'present')];
    }
  }
  return tokenizer.decode(tokens, false, false).trim();
}

function likeliest(scores: Float32Array): number {
  let best = 0;
  for (let i = 1; i < scores.length; i++) {
    if ((scores[i] ?? 0) > (scores[best] ?? 0)) best = i;
  }
  return best;
}
