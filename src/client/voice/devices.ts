import type { AudioError } from '../audio/audio-error.ts';
import { AudioPlayer } from '../audio/player.ts';
import { AudioRecorder } from '../audio/recorder.ts';
import type { VoiceOptions } from './voice-state.ts';

/** The loudness at which the level meter is full, on the scale of 16-bit samples (up to 32,767). */
const LOUD = 8000;

/** The options of the devices, and the callbacks to which they report. */
export interface DevicesContext {
  options: VoiceOptions;
  /** Gets the sound of the microphone. */
  onSound: (pcm: Int16Array) => void;
  /** Called when the microphone stopped by itself, e.g. because it was unplugged. */
  onLost: (error: AudioError) => void;
  /** Called when the player starts or stops, and when the browser allows it to play. */
  onPlayerChange: () => void;
}

/** Owns the microphone and the loudspeaker of a voice, and the lock that keeps the screen on. The user may change both devices while they are in use. */
export class Devices {
  readonly #context: DevicesContext;
  #recorder: AudioRecorder | null = null;
  #player: AudioPlayer | null = null;
  #meter: AnalyserNode | null = null;
  #wakeLock: Promise<WakeLockSentinel | null> | null = null;

  constructor(context: DevicesContext) {
    this.#context = context;
  }

  /** The player; null before `openPlayer`. */
  get player(): AudioPlayer | null {
    return this.#player;
  }

  /** Switches the microphone on. Throws an `AudioError` when that fails. */
  async record(): Promise<void> {
    const recorder = this.#newRecorder();
    this.#recorder = recorder;
    await recorder.start();
  }

  /** Switches the microphone off. Resolves when `onSound` has got the last sound. */
  async stopRecording(): Promise<void> {
    const recorder = this.#recorder;
    this.#recorder = null;
    await recorder?.stop();
  }

  /** Uses another microphone, at once if a microphone is on. When that fails, it throws, and the previous microphone stays on. */
  async switchMicrophone(deviceId: string): Promise<void> {
    const { options } = this.#context;
    const { microphone } = options;
    options.microphone = deviceId;
    const before = this.#recorder;
    if (!before?.isOn) return;
    const next = this.#newRecorder();
    try {
      await next.start();
    } catch (error) {
      options.microphone = microphone;
      throw error;
    }
    // While `next` started, the microphone was switched off, or the user chose yet another one.
    if (before !== this.#recorder) return next.stop();
    this.#recorder = next;
    await before.stop();
  }

  /** Uses another loudspeaker. */
  async switchLoudspeaker(deviceId: string): Promise<void> {
    await this.#player?.setOutput(deviceId);
    this.#context.options.loudspeaker = deviceId;
  }

  /** Returns the player. The first call creates it. */
  openPlayer(): AudioPlayer {
    if (this.#player) return this.#player;
    const { options, onPlayerChange } = this.#context;
    const { loudspeaker, workletUrls } = options;
    const player = new AudioPlayer({ onPlaying: onPlayerChange, workletUrl: workletUrls?.player });
    if (loudspeaker) void player.setOutput(loudspeaker).catch(() => undefined);
    this.#meter = new AnalyserNode(player.output.context, { fftSize: 512 });
    player.output.connect(this.#meter);
    player.output.context.addEventListener('statechange', onPlayerChange);
    this.#player = player;
    navigator.mediaDevices?.addEventListener('devicechange', this.#onDeviceChange);
    return player;
  }

  /** Whether the browser waits for a click before it plays sound. */
  get isBlocked(): boolean {
    return this.#player?.isBlocked === true;
  }

  /** The loudness of the player, from 0 to 1. */
  get level(): number {
    if (!this.#meter) return 0;
    const samples = new Float32Array(this.#meter.fftSize);
    this.#meter.getFloatTimeDomainData(samples);
    return levelOf(samples, 32_767);
  }

  /** Keeps the screen on; with false, lets it turn off again. It has no effect in a browser that does not support or allow this. */
  stayAwake(isWanted: boolean): void {
    if (isWanted) {
      this.#wakeLock ??= navigator.wakeLock?.request('screen').catch(() => null) ?? Promise.resolve(null);
      return;
    }
    void this.#wakeLock?.then((lock) => lock?.release());
    this.#wakeLock = null;
  }

  /** Releases the loudspeaker. */
  async dispose(): Promise<void> {
    const player = this.#player;
    this.#player = null;
    this.#meter = null;
    navigator.mediaDevices?.removeEventListener('devicechange', this.#onDeviceChange);
    await player?.close();
  }

  /** Uses the loudspeaker that the browser prefers when the chosen one is unplugged. */
  readonly #onDeviceChange = async (): Promise<void> => {
    const { options } = this.#context;
    const { loudspeaker } = options;
    if (!loudspeaker) return;
    const all = await navigator.mediaDevices.enumerateDevices();
    const isHere = all.some((one) => one.kind === 'audiooutput' && one.deviceId === loudspeaker);
    if (!isHere && options.loudspeaker === loudspeaker) await this.switchLoudspeaker('');
  };

  #newRecorder(): AudioRecorder {
    const { options, onSound, onLost } = this.#context;
    const { microphone, constraints, workletUrls } = options;
    const recorder = new AudioRecorder({
      onChunk: (pcm) => {
        // `#recorder` is null while this recorder stops and passes on its last sound. While another microphone starts, `#recorder` is still the
        // previous one, so that only one of the two is heard.
        if (recorder === this.#recorder || this.#recorder === null) onSound(pcm);
      },
      onLost: (error) => {
        if (recorder === this.#recorder) onLost(error);
      },
      deviceId: microphone,
      constraints,
      workletUrl: workletUrls?.recorder,
    });
    return recorder;
  }
}

/** Returns the loudness of sound, from 0 to 1. `full`: the factor that scales the samples to 16 bits. */
export function levelOf(samples: Int16Array | Float32Array, full = 1): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return Math.min(1, (Math.sqrt(sum / samples.length) * full) / LOUD);
}
