import { AudioError } from './audio-error.ts';
import { convertPCM16ToFloat32, encodeWav } from './pcm.ts';
import type { PlayerOrder, PlayerReport, PlayerSettings } from './pcm-player-processor.ts';
import { Resampler } from './pcm-recorder-processor.ts';

const SAMPLE_RATE = 24_000;
/** The time constant of changes in volume, in seconds. */
const SMOOTH_SECONDS = 0.01;

/** Options of a player. */
export interface AudioPlayerOptions {
  /** Called when playing starts and when it stops. */
  onPlaying?: (isPlaying: boolean) => void;
  /** How many seconds of sound may wait to be played. When more arrives, the oldest sound is dropped. Default: 180. */
  maxSeconds?: number;
  /** The URL of `pcm-player-processor.js` of this package. */
  workletUrl?: string | URL | undefined;
}

/** A piece of the agent's sound. */
export interface Sound {
  /** The number of the utterance that the piece belongs to. */
  n: number;
  /** The position of the first sample of the piece in the utterance. Without `at`, the piece follows the previous one. */
  at?: number;
  sampleRate: number;
  pcm: Int16Array;
}

/** How much of an utterance was heard. */
export interface Heard {
  n: number;
  ms: number;
}

interface Utterance {
  readonly n: number;
  readonly sampleRate: number;
  readonly resampler: Resampler;
  /** The position after the last sample that has arrived (`received`, at `sampleRate`), and after the last one that the worklet got (`passed`, at 24 kHz). */
  received: number;
  passed: number;
  readonly pcm: Int16Array[];
}

/**
 * Plays the agent's sound while it arrives, and knows how much of it was heard.
 *
 * @example
 * const player = new AudioPlayer();
 * await player.start();
 * player.play({ n: 1, at: 0, sampleRate: 24_000, pcm });
 */
export class AudioPlayer {
  readonly #options: AudioPlayerOptions;
  readonly #maxSeconds: number;
  readonly #context = new AudioContext({ sampleRate: SAMPLE_RATE, latencyHint: 'interactive' });
  readonly #gain = this.#context.createGain();
  #ready: Promise<void> | null = null;
  #node: AudioWorkletNode | null = null;
  #waiting: PlayerOrder[] = [];
  #report: PlayerReport = { place: null, queued: 0, gaps: 0, isPlaying: false, time: 0 };
  #utterance: Utterance | null = null;
  /** The number of the utterance that was interrupted last. Its sound that arrives later is dropped. Null before the first interruption. */
  #unwanted: number | null = null;
  #volume = 1;
  #isMuted = false;

  constructor(options: AudioPlayerOptions = {}) {
    this.#options = options;
    this.#maxSeconds = options.maxSeconds ?? 180;
    this.#gain.connect(this.#context.destination);
  }

  /** Loads the worklet. Call it in the handler of a click, because browsers let a page play sound only after the user has clicked. Throws an `AudioError`. */
  async start(): Promise<void> {
    this.#ready ??= this.#open().catch((cause) => {
      this.#ready = null;
      this.#waiting = [];
      throw cause;
    });
    void this.#context.resume();
    await this.#ready;
  }

  /** Whether the browser waits for a click before it plays sound. */
  get isBlocked(): boolean {
    return this.#context.state === 'suspended';
  }

  get isPlaying(): boolean {
    return this.#report.isPlaying;
  }

  /** How often sound arrived too late. */
  get gaps(): number {
    return this.#report.gaps;
  }

  /** The audio node through which all sound passes. A level meter can connect to it. */
  get output(): AudioNode {
    return this.#gain;
  }

  /** From 0 to 1. */
  get volume(): number {
    return this.#volume;
  }

  set volume(volume: number) {
    this.#volume = Math.max(0, Math.min(1, volume));
    this.#setGain();
  }

  /** Whether the sound is muted. A muted player continues to play its sound, but the user does not hear it. */
  get muted(): boolean {
    return this.#isMuted;
  }

  set muted(isMuted: boolean) {
    this.#isMuted = isMuted;
    this.#setGain();
  }

  /** Plays through another loudspeaker. Throws an `AudioError` when that fails. */
  async setOutput(deviceId: string): Promise<void> {
    const context = this.#context as AudioContext & { setSinkId?: (id: string) => Promise<void> };
    if (!context.setSinkId) throw new AudioError('unsupported');
    await context
      .setSinkId(deviceId)
      .catch((cause: unknown) => Promise.reject(AudioError.from(cause, 'loudspeaker')));
  }

  /** Plays a piece after the previous pieces. Ignores samples that an earlier piece already contained. */
  play({ n, at, sampleRate, pcm }: Sound): void {
    if (n === this.#unwanted) return;
    const placeOf = (samples: number) => Math.round((samples * SAMPLE_RATE) / sampleRate);
    let utterance = this.#utterance;
    if (utterance?.n !== n || utterance.sampleRate !== sampleRate) {
      const resampler = new Resampler(sampleRate, SAMPLE_RATE);
      utterance = { n, sampleRate, resampler, received: at ?? 0, passed: placeOf(at ?? 0), pcm: [] };
      this.#utterance = utterance;
    }
    const start = at ?? utterance.received;
    const known = Math.max(0, utterance.received - start);
    if (known >= pcm.length) return;
    const fresh = pcm.subarray(known);
    if (start > utterance.received) utterance.passed = placeOf(start);
    utterance.received = start + pcm.length;
    if (utterance.received <= this.#maxSeconds * sampleRate) utterance.pcm.push(fresh.slice());
    this.#pass(utterance, utterance.resampler.push(convertPCM16ToFloat32(fresh)));
  }

  /** Marks an utterance as complete, so that its last samples are played without waiting for more. */
  end(n: number): void {
    const utterance = this.#utterance;
    if (utterance?.n === n) this.#pass(utterance, utterance.resampler.end());
    this.#order({ type: 'end', n });
  }

  /** Stops the sound at once, and drops sound of the newest utterance that arrives later. Returns `heard` as it was before that. */
  interrupt(): Heard | null {
    const heard = this.heard;
    this.#unwanted = this.#utterance?.n ?? null;
    this.#order({ type: 'flush' });
    return heard;
  }

  /** How much of the current or last utterance the loudspeaker has played; null before the first utterance. */
  get heard(): Heard | null {
    const { place, isPlaying, queued, time } = this.#report;
    if (!place) return null;
    const { currentTime, outputLatency } = this.#context;
    const since = isPlaying ? Math.min(queued, Math.max(0, currentTime - time) * SAMPLE_RATE) : 0;
    // Some browsers do not report `outputLatency`.
    const latency = isPlaying ? (outputLatency || 0) * SAMPLE_RATE : 0;
    return { n: place.n, ms: (Math.max(0, place.at + since - latency) / SAMPLE_RATE) * 1000 };
  }

  /**
   * Returns the sound of the newest utterance, at most its first `maxSeconds`, as a WAV file. Null when that utterance does not have the number
   * `n`.
   */
  wav(n: number): Blob | null {
    const utterance = this.#utterance;
    if (utterance?.n !== n) return null;
    return new Blob([encodeWav(utterance.pcm, utterance.sampleRate)], { type: 'audio/wav' });
  }

  /** Releases the loudspeaker. */
  async close(): Promise<void> {
    await this.#ready?.catch(() => null);
    await this.#context.close();
  }

  #pass(utterance: Utterance, samples: Float32Array<ArrayBuffer>): void {
    const at = utterance.passed;
    // Count the samples before `#order` transfers the array to the worklet, which empties it here.
    utterance.passed += samples.length;
    this.#order({ type: 'push', n: utterance.n, at, samples });
  }

  #setGain(): void {
    const gain = this.#isMuted ? 0 : this.#volume;
    this.#gain.gain.setTargetAtTime(gain, this.#context.currentTime, SMOOTH_SECONDS);
  }

  /** Sends an order to the worklet. Before `start()` it drops the order; while the worklet loads, it keeps the order until the worklet is ready. */
  #order(order: PlayerOrder): void {
    if (this.#node) this.#node.port.postMessage(order, order.type === 'push' ? [order.samples.buffer] : []);
    else if (this.#ready) this.#waiting.push(order);
  }

  async #open(): Promise<void> {
    const { workletUrl } = this.#options;
    await this.#context.audioWorklet
      .addModule(workletUrl ?? new URL('./pcm-player-processor.js', import.meta.url))
      .catch((cause) => Promise.reject(new AudioError('worklet', cause)));
    const node = new AudioWorkletNode(this.#context, 'pcm-player-processor', {
      numberOfInputs: 0,
      outputChannelCount: [1],
      processorOptions: { maxSeconds: this.#maxSeconds } satisfies PlayerSettings,
    });
    node.port.onmessage = ({ data }: MessageEvent<PlayerReport>) => {
      const { isPlaying } = this.#report;
      this.#report = data;
      if (data.isPlaying !== isPlaying) this.#options.onPlaying?.(data.isPlaying);
    };
    node.connect(this.#gain);
    this.#node = node;
    for (const order of this.#waiting.splice(0)) this.#order(order);
  }
}
