import type { AudioError } from '../audio/audio-error.ts';
import { AudioPlayer } from '../audio/player.ts';
import { AudioRecorder } from '../audio/recorder.ts';
import type { VoiceOptions } from './voice-state.ts';

/** How loud a voice is that fills a meter, of 32,767. */
const LOUD = 8000;

/** What devices are made of. */
export interface DevicesContext {
  options: VoiceOptions;
  /** Gets the sound of the microphone. */
  onSound: (pcm: Int16Array) => void;
  /** The microphone went away by itself. */
  onLost: (error: AudioError) => void;
  /** Something began to play or fell silent, or the browser lets the page be heard. */
  onPlayerChange: () => void;
}

/** The microphone and the loudspeaker of a voice, which may be exchanged while they are used, and the screen that stays on. */
export class Devices {
  readonly #context: DevicesContext;
  #recorder: AudioRecorder | null = null;
  #player: AudioPlayer | null = null;
  #meter: AnalyserNode | null = null;
  #wakeLock: Promise<WakeLockSentinel | null> | null = null;

  constructor(context: DevicesContext) {
    this.#context = context;
  }

  /** The loudspeaker, if it was used already. */
  get player(): AudioPlayer | null {
    return this.#player;
  }

  /** Switches the microphone on. Fails with an `AudioError`. */
  async record(): Promise<void> {
    const recorder = this.#newRecorder();
    this.#recorder = recorder;
    await recorder.start();
  }

  /** Switches the microphone off; what was said until then is passed on first. */
  async stopRecording(): Promise<void> {
    const recorder = this.#recorder;
    this.#recorder = null;
    await recorder?.stop();
  }

  /** Takes another microphone, now if one is on. When that cannot be, the one before goes on. */
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
      if (microphone === undefined) delete options.microphone;
      else options.microphone = microphone;
      throw error;
    }
    // Switched off, or exchanged again, meanwhile.
    if (before !== this.#recorder) return next.stop();
    this.#recorder = next;
    await before.stop();
  }

  /** Takes another loudspeaker. */
  async switchLoudspeaker(deviceId: string): Promise<void> {
    await this.#player?.setOutput(deviceId);
    this.#context.options.loudspeaker = deviceId;
  }

  /** The loudspeaker, made when it is first wanted. */
  openPlayer(): AudioPlayer {
    if (this.#player) return this.#player;
    const { options, onPlayerChange } = this.#context;
    const { loudspeaker, workletUrls } = options;
    const player = new AudioPlayer({
      onPlaying: onPlayerChange,
      ...(workletUrls?.player ? { workletUrl: workletUrls.player } : {}),
    });
    if (loudspeaker) void player.setOutput(loudspeaker).catch(() => undefined);
    this.#meter = new AnalyserNode(player.output.context, { fftSize: 512 });
    player.output.connect(this.#meter);
    player.output.context.addEventListener('statechange', onPlayerChange);
    this.#player = player;
    navigator.mediaDevices?.addEventListener('devicechange', this.#onDeviceChange);
    return player;
  }

  /** Whether the browser waits for a click before it lets the loudspeaker be heard. */
  get isBlocked(): boolean {
    return this.#player?.isBlocked === true;
  }

  /** How loud the loudspeaker is, from 0 to 1. */
  get level(): number {
    if (!this.#meter) return 0;
    const samples = new Float32Array(this.#meter.fftSize);
    this.#meter.getFloatTimeDomainData(samples);
    return levelOf(samples, 32_767);
  }

  /** Keeps the screen on while somebody talks; a browser that cannot do that, or will not, is no reason not to. */
  stayAwake(isWanted: boolean): void {
    if (isWanted) {
      this.#wakeLock ??= navigator.wakeLock?.request('screen').catch(() => null) ?? Promise.resolve(null);
      return;
    }
    void this.#wakeLock?.then((lock) => lock?.release());
    this.#wakeLock = null;
  }

  /** Lets go of the loudspeaker. */
  async dispose(): Promise<void> {
    const player = this.#player;
    this.#player = null;
    this.#meter = null;
    navigator.mediaDevices?.removeEventListener('devicechange', this.#onDeviceChange);
    await player?.close();
  }

  /** A loudspeaker that was unplugged makes room for the one that the browser prefers. */
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
        // The last of one that was switched off still counts; one that is exchanged is heard until the next one is on.
        if (recorder === this.#recorder || this.#recorder === null) onSound(pcm);
      },
      onLost: (error) => {
        if (recorder === this.#recorder) onLost(error);
      },
      ...(microphone ? { deviceId: microphone } : {}),
      ...(constraints ? { constraints } : {}),
      ...(workletUrls?.recorder ? { workletUrl: workletUrls.recorder } : {}),
    });
    return recorder;
  }
}

/** How loud sound is, from 0 to 1, where `full` is the largest number that it is written with. */
export function levelOf(samples: Int16Array | Float32Array, full = 1): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return Math.min(1, (Math.sqrt(sum / samples.length) * full) / LOUD);
}
