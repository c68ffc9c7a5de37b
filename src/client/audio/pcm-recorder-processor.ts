/**
 * The audio worklet of `AudioRecorder`. The browser loads this file separately. The file imports nothing, so that any server can serve it
 * and any bundler can copy it. Outside a worklet it only exports `Resampler`.
 */

/** The share of half the smaller sample rate that the filter passes unchanged. The rest is the slope of the filter. */
const PASSED = 0.875;
/** The attenuation of frequencies that would alias, in dB. */
const STOPPED_DB = 80;

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** The modified Bessel function of order zero, for the Kaiser window. */
function bessel(x: number): number {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

/** Returns a windowed sinc filter for each phase. A phase is a position between two input samples at which an output sample can lie. */
function filters(from: number, to: number, phases: number): Float32Array[] {
  const half = Math.min(from, to) / 2;
  const cutoff = (half * (1 + PASSED)) / 2 / from;
  const slope = (half * (1 - PASSED)) / from;
  const length = 2 * Math.ceil((STOPPED_DB - 8) / (2.285 * 2 * Math.PI * slope) / 2) + 2;
  const beta = 0.1102 * (STOPPED_DB - 8.7);
  return Array.from({ length: phases }, (_, phase) => {
    const taps = new Float64Array(length);
    let sum = 0;
    for (let k = 0; k < length; k++) {
      const x = k - (length / 2 - 1) - phase / phases;
      const inside = 1 - (x / (length / 2)) ** 2;
      const sinc = x === 0 ? 2 * cutoff : Math.sin(2 * Math.PI * cutoff * x) / (Math.PI * x);
      taps[k] = inside > 0 ? (sinc * bessel(beta * Math.sqrt(inside))) / bessel(beta) : 0;
      sum += taps[k] ?? 0;
    }
    // The division gives every phase the same gain.
    return Float32Array.from(taps, (tap) => tap / sum);
  });
}

/** Changes the sample rate of sound that arrives in pieces. `push` returns the output samples that the input allows so far, `end` the rest. */
export class Resampler {
  readonly #taps: readonly Float32Array[];
  readonly #length: number;
  /** The distance between two output samples, in phases. It equals `step / phases` input samples. */
  readonly #step: number;
  readonly #phases: number;
  /** The input samples that later output samples need. At the start it is silence of half the length of a filter. */
  #kept: Float32Array;
  /** The position of the next output sample, in phases from the first kept sample. */
  #next = 0;
  #taken = 0;
  #made = 0;
  readonly #ratio: number;

  constructor(from: number, to: number) {
    const divisor = greatestCommonDivisor(from, to);
    this.#phases = to / divisor;
    this.#step = from / divisor;
    this.#ratio = to / from;
    this.#taps = from === to ? [] : filters(from, to, this.#phases);
    this.#length = this.#taps[0]?.length ?? 0;
    this.#kept = new Float32Array(Math.max(0, this.#length / 2 - 1));
  }

  push(samples: Float32Array): Float32Array<ArrayBuffer> {
    this.#taken += samples.length;
    if (this.#length === 0) {
      this.#made += samples.length;
      return samples.slice();
    }
    const sound = new Float32Array(this.#kept.length + samples.length);
    sound.set(this.#kept);
    sound.set(samples, this.#kept.length);
    // The output ends with the last sample for which all input samples of the filter have arrived.
    const limit = (sound.length - this.#length + 1) * this.#phases;
    const out = new Float32Array(Math.max(0, Math.ceil((limit - this.#next) / this.#step)));
    for (let i = 0; i < out.length; i++) {
      const at = Math.floor(this.#next / this.#phases);
      const taps = this.#taps[this.#next % this.#phases];
      let sum = 0;
      for (let k = 0; k < this.#length; k++) sum += (sound[at + k] ?? 0) * (taps?.[k] ?? 0);
      out[i] = sum;
      this.#next += this.#step;
    }
    const used = Math.min(Math.floor(this.#next / this.#phases), sound.length);
    this.#kept = sound.slice(used);
    this.#next -= used * this.#phases;
    this.#made += out.length;
    return out;
  }

  /** Ends the sound. Returns the output that `push` could not return, because the filter also needs later input samples. */
  end(): Float32Array<ArrayBuffer> {
    const missing = Math.round(this.#taken * this.#ratio) - this.#made;
    const rest = missing > 0 ? this.push(new Float32Array(this.#length * 2)) : new Float32Array();
    return rest.slice(0, Math.max(0, missing));
  }
}

/** The settings of the worklet. */
export interface RecorderSettings {
  sampleRate: number;
  /** The number of samples in each piece that the worklet posts. */
  pieceLength: number;
}

interface Port {
  onmessage: ((event: { data: unknown }) => void) | null;
  postMessage(message: unknown, transfer?: ArrayBuffer[]): void;
}

/** The number of samples that a browser passes to `process` at once (the render quantum of Web Audio). */
const BLOCK = 128;

declare const registerProcessor: ((name: string, processor: unknown) => void) | undefined;
declare const sampleRate: number;
declare const AudioWorkletProcessor: new () => { readonly port: Port };

if (typeof registerProcessor === 'function') {
  registerProcessor(
    'pcm-recorder-processor',
    class extends AudioWorkletProcessor {
      readonly #resampler: Resampler;
      readonly #pieceLength: number;
      #piece: Float32Array<ArrayBuffer>;
      #filled = 0;
      #isOn = true;

      constructor({ processorOptions }: { processorOptions: RecorderSettings }) {
        super();
        this.#pieceLength = processorOptions.pieceLength;
        this.#piece = new Float32Array(this.#pieceLength);
        this.#resampler = new Resampler(sampleRate, processorOptions.sampleRate);
        this.port.onmessage = () => {
          this.#take(this.#resampler.end());
          this.#isOn = false;
          this.port.postMessage(this.#piece.slice(0, this.#filled));
          this.port.postMessage('end');
        };
      }

      process([channels = []]: Float32Array[][]): boolean {
        // While the browser gives no data, record silence: without it a speech detector would not find the end of speech.
        const [first = new Float32Array(BLOCK)] = channels;
        if (!this.#isOn) return false;
        // The mean of the channels is mono.
        const mono =
          channels.length < 2
            ? first
            : first.map(
                (_, i) => channels.reduce((sum, channel) => sum + (channel[i] ?? 0), 0) / channels.length,
              );
        this.#take(this.#resampler.push(mono));
        return true;
      }

      #take(samples: Float32Array): void {
        for (const sample of samples) {
          this.#piece[this.#filled++] = sample;
          if (this.#filled < this.#pieceLength) continue;
          this.port.postMessage(this.#piece, [this.#piece.buffer]);
          this.#piece = new Float32Array(this.#pieceLength);
          this.#filled = 0;
        }
      }
    },
  );
}
