import { AudioError } from './audio-error.ts';
import { convertPCM16ToFloat32, encodeWav } from './pcm.ts';
import type { PlayerOrder, PlayerReport, PlayerSettings } from './pcm-player-processor.ts';
import { Resampler } from './pcm-recorder-processor.ts';

const SAMPLE_RATE = 24_000;
/** The time constant of changes in volume. */
const SMOOTH_SECONDS = 0.01;

/** What a player may be told. */
export interface AudioPlayerOptions {
  /** Is told when playing begins and when it falls silent. */
  onPlaying?: (isPlaying: boolean) => void;
  /** How much sound may wait; what is more pushes out the oldest. */
  maxSeconds?: number;
  /** Where `pcm-player-processor.js` of this package is served. */
  workletUrl?: string | URL;
}

/** A piece of sound of the agent. */
export interface Sound {
  /** The number of its utterance. */
  n: number;
  /** How many samples of the utterance come before it; without it, it follows the piece before. */
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
  /** The samples that came, and those that went on to the worklet. */
  came: number;
  went: number;
  readonly pcm: Int16Array[];
}

/** Plays what the agent says while it arrives, and knows how much of it was heard. */
export class AudioPlayer {
  private readonly options: AudioPlayerOptions;
  private readonly context: AudioContext;
  private readonly gain: GainNode;
  private ready: Promise<AudioWorkletNode> | null = null;
  private node: AudioWorkletNode | null = null;
  private waiting: PlayerOrder[] = [];
  private report: PlayerReport = { place: null, queued: 0, gaps: 0, isPlaying: false, time: 0 };
  private utterance: Utterance | null = null;
  private unwanted: number | null = null;
  private loudness = 1;
  private isMuted = false;

  constructor(options: AudioPlayerOptions = {}) {
    this.options = options;
    this.context = new AudioContext({ sampleRate: SAMPLE_RATE, latencyHint: 'interactive' });
    this.gain = this.context.createGain();
    this.gain.connect(this.context.destination);
  }

  /** Loads the worklet; best called when a person clicks, since browsers let no page make noise before. */
  async start(): Promise<void> {
    this.ready ??= this.open().catch((cause) => {
      this.ready = null;
      this.waiting = [];
      throw cause;
    });
    void this.context.resume();
    await this.ready;
  }

  /** Whether the browser waits for a click before it lets the page be heard. */
  get isBlocked(): boolean {
    return this.context.state === 'suspended';
  }

  get isPlaying(): boolean {
    return this.report.isPlaying;
  }

  /** How often sound came too late. */
  get gaps(): number {
    return this.report.gaps;
  }

  /** What everything goes through, for a level meter. */
  get output(): AudioNode {
    return this.gain;
  }

  get volume(): number {
    return this.loudness;
  }

  set volume(volume: number) {
    this.loudness = Math.max(0, Math.min(1, volume));
    this.setGain();
  }

  get muted(): boolean {
    return this.isMuted;
  }

  /** Silence while everything else goes on. */
  set muted(isMuted: boolean) {
    this.isMuted = isMuted;
    this.setGain();
  }

  /** Chooses a loudspeaker. */
  async setOutput(deviceId: string): Promise<void> {
    const context = this.context as AudioContext & { setSinkId?: (id: string) => Promise<void> };
    if (!context.setSinkId) throw new AudioError('unsupported');
    await context.setSinkId(deviceId).catch((cause: unknown) => Promise.reject(AudioError.from(cause)));
  }

  /** Plays a piece of sound behind those that came before it; one that came already is left out. */
  play({ n, at, sampleRate, pcm }: Sound): void {
    if (n === this.unwanted) return;
    let { utterance } = this;
    if (utterance?.n !== n || utterance.sampleRate !== sampleRate) {
      utterance = {
        n,
        sampleRate,
        resampler: new Resampler(sampleRate, SAMPLE_RATE),
        came: at ?? 0,
        went: Math.round(((at ?? 0) * SAMPLE_RATE) / sampleRate),
        pcm: [],
      };
      this.utterance = utterance;
    }
    const start = at ?? utterance.came;
    const known = Math.max(0, utterance.came - start);
    if (known >= pcm.length) return;
    const fresh = pcm.subarray(known);
    if (start > utterance.came) utterance.went = Math.round((start * SAMPLE_RATE) / sampleRate);
    utterance.came = start + pcm.length;
    this.keep(utterance, fresh);
    this.pass(utterance, utterance.resampler.push(convertPCM16ToFloat32(fresh)));
  }

  /** Says that an utterance is complete, so that its end does not wait for more. */
  end(n: number): void {
    const { utterance } = this;
    if (utterance?.n === n) this.pass(utterance, utterance.resampler.end());
    this.order({ type: 'end', n });
  }

  /** Silence at once; what still comes of this utterance is dropped. Returns how much of it was heard. */
  interrupt(): Heard | null {
    const heard = this.heard;
    this.unwanted = this.utterance?.n ?? null;
    this.order({ type: 'flush' });
    return heard;
  }

  /** How much of the utterance that plays, or played last, has left the loudspeaker. */
  get heard(): Heard | null {
    const { place, isPlaying, queued, time } = this.report;
    if (!place) return null;
    const { currentTime, outputLatency } = this.context;
    const since = isPlaying ? Math.min(queued, Math.max(0, currentTime - time) * SAMPLE_RATE) : 0;
    // Some browsers do not know it.
    const underway = isPlaying ? (outputLatency || 0) * SAMPLE_RATE : 0;
    return { n: place.n, ms: (Math.max(0, place.at + since - underway) / SAMPLE_RATE) * 1000 };
  }

  /** The sound of the newest utterance so far as a WAV file; null when there is none with that number. */
  wav(n: number): Blob | null {
    const { utterance } = this;
    if (utterance?.n !== n) return null;
    return new Blob([encodeWav(utterance.pcm, utterance.sampleRate)], { type: 'audio/wav' });
  }

  async close(): Promise<void> {
    await this.ready?.catch(() => null);
    await this.context.close();
  }

  private get maxSeconds(): number {
    return this.options.maxSeconds ?? 180;
  }

  private keep({ pcm, sampleRate, came }: Utterance, fresh: Int16Array): void {
    if (came <= this.maxSeconds * sampleRate) pcm.push(fresh.slice());
  }

  private pass(utterance: Utterance, samples: Float32Array<ArrayBuffer>): void {
    const at = utterance.went;
    // Before they are given away: then they have no length any more.
    utterance.went += samples.length;
    this.order({ type: 'push', n: utterance.n, at, samples });
  }

  private setGain(): void {
    const gain = this.isMuted ? 0 : this.loudness;
    this.gain.gain.setTargetAtTime(gain, this.context.currentTime, SMOOTH_SECONDS);
  }

  private order(order: PlayerOrder): void {
    // Before it is started nobody wants to hear anything.
    if (!this.node) {
      if (this.ready) this.waiting.push(order);
    } else this.node.port.postMessage(order, order.type === 'push' ? [order.samples.buffer] : []);
  }

  private async open(): Promise<AudioWorkletNode> {
    const { workletUrl } = this.options;
    await this.context.audioWorklet
      .addModule(workletUrl ?? new URL('./pcm-player-processor.js', import.meta.url))
      .catch((cause) => Promise.reject(new AudioError('worklet', cause)));
    const processorOptions: PlayerSettings = { maxSeconds: this.maxSeconds };
    const node = new AudioWorkletNode(this.context, 'pcm-player-processor', {
      numberOfInputs: 0,
      outputChannelCount: [1],
      processorOptions,
    });
    node.port.onmessage = ({ data }: MessageEvent<PlayerReport>) => {
      const { isPlaying } = this.report;
      this.report = data;
      if (data.isPlaying !== isPlaying) this.options.onPlaying?.(data.isPlaying);
    };
    node.connect(this.gain);
    this.node = node;
    for (const order of this.waiting.splice(0)) this.order(order);
    return node;
  }
}
