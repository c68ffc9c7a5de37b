import type { DetectSpeech } from 'duologue/client/voice';
import { SpeechFrames } from './speech-frames.ts';

interface Tensor {
  readonly data: Float32Array;
}
interface Model {
  run(feeds: Record<string, Tensor>): Promise<Record<string, Tensor>>;
}
/** The part of onnxruntime-web that is used here. */
export interface Runtime {
  env: { wasm: { numThreads: number; wasmPaths: string } };
  Tensor: new (type: string, data: Float32Array | BigInt64Array, dims: readonly number[]) => Tensor;
  InferenceSession: { create(model: Uint8Array): Promise<Model> };
}

const RUNTIME = '/voice/files/onnxruntime-web-1.21.1/dist/';
const MODEL = '/voice/files/vad-web-0.0.31/dist/silero_vad_v5.onnx';
/** Samples of a frame at 16 kHz: 32 ms. */
const FRAME = 512;
/** The model looks at a frame together with the end of the one before; without it, quiet beginnings go unnoticed. */
const CONTEXT = 64;
/** The shape of the state that the model carries from one frame to the next. */
const MEMORY = [2, 1, 128] as const;
/** Frames that may wait: a machine that is too slow loses some instead of falling behind. */
const MAX_WAITING = 16;

/** Loads a model that distinguishes speech from other sounds, such as a door. The server must have downloaded its files. */
export async function loadSilero(): Promise<(sensitivity: number) => DetectSpeech> {
  const [runtime, model] = await Promise.all([
    import(/* @vite-ignore */ `${RUNTIME}ort.wasm.bundle.min.mjs`) as Promise<Runtime>,
    fetch(MODEL).then((response) => response.arrayBuffer()),
  ]);
  return silero(runtime, RUNTIME, new Uint8Array(model));
}

/** Creates the detector with a given runtime. `folder` is the address of its WebAssembly files, `bytes` is the model. */
export async function silero(
  { env, Tensor, InferenceSession }: Runtime,
  folder: string,
  bytes: Uint8Array,
): Promise<(sensitivity: number) => DetectSpeech> {
  env.wasm.numThreads = 1;
  env.wasm.wasmPaths = folder;
  const model = await InferenceSession.create(bytes);
  const rate = new Tensor('int64', BigInt64Array.of(16_000n), []);

  return (sensitivity) => (onSpeech) => {
    const frames = new SpeechFrames(sensitivity);
    let memory = new Tensor('float32', new Float32Array(256), MEMORY);
    let frame = new Float32Array(CONTEXT + FRAME);
    let filled = CONTEXT;
    let waiting = 0;
    let isClosed = false;
    let last: Promise<void> = Promise.resolve();
    const look = async (sound: Float32Array) => {
      const input = new Tensor('float32', sound, [1, sound.length]);
      const { output, stateN } = await model.run({ input, state: memory, sr: rate });
      waiting--;
      memory = stateN ?? memory;
      const happened = frames.push(output?.data[0] ?? 0);
      if (happened && !isClosed) onSpeech(happened === 'begins');
    };
    return {
      push(pcm) {
        for (const sample of pcm) {
          frame[filled++] = sample / 32_768;
          if (filled < frame.length) continue;
          const sound = frame;
          frame = new Float32Array(CONTEXT + FRAME);
          frame.set(sound.subarray(FRAME));
          filled = CONTEXT;
          if (waiting >= MAX_WAITING) continue;
          waiting++;
          last = last.then(() => look(sound));
        }
      },
      close() {
        isClosed = true;
      },
    };
  };
}
