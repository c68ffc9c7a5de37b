import { AudioError } from './audio-error.ts';
import { convertFloat32ToPCM16 } from './pcm.ts';
import type { RecorderSettings } from './pcm-recorder-processor.ts';

/** The sample rate of the mono sound that the server accepts. */
const SAMPLE_RATE = 16_000;
/** How many milliseconds `stop` waits for the worklet to post its last piece. */
const LAST_PIECE_MS = 500;

/** Options of a recorder. */
export interface AudioRecorderOptions {
  /** Gets the sound of the microphone piece by piece: 16 kHz, mono, 16 bits. */
  onChunk: (pcm: Int16Array<ArrayBuffer>) => void;
  /** Called when the microphone was unplugged or switched off. */
  onLost?: ((error: AudioError) => void) | undefined;
  /** The device id of the microphone. Default: the microphone that the browser prefers. */
  deviceId?: string | undefined;
  /** The length of each piece in milliseconds. Default: 20. */
  pieceMs?: number | undefined;
  /** Constraints beyond mono sound with echo cancellation, noise suppression and gain control. */
  constraints?: MediaTrackConstraints | undefined;
  /** The URL of `pcm-recorder-processor.js` of this package. */
  workletUrl?: string | URL | undefined;
}

interface Recording {
  readonly stream: MediaStream;
  readonly context: AudioContext;
  readonly node: AudioWorkletNode;
}

/**
 * Records a microphone from `start` to `stop`.
 *
 * @example
 * const recorder = new AudioRecorder({ onChunk: (pcm) => socket.send(pcm) });
 * await recorder.start();
 */
export class AudioRecorder {
  readonly #options: AudioRecorderOptions;
  #starting: Promise<Recording> | null = null;
  /** The promise of the last `stop`. When the microphone is unplugged, the recorder stops itself, and a later `stop` of the caller returns this promise. */
  #stopping: Promise<void> = Promise.resolve();

  constructor(options: AudioRecorderOptions) {
    this.#options = options;
  }

  /** Whether the microphone is on, or being switched on. */
  get isOn(): boolean {
    return this.#starting !== null;
  }

  /** Asks the user for the microphone and switches it on. Throws an `AudioError` when that fails. */
  async start(): Promise<void> {
    this.#starting ??= this.#open();
    const starting = this.#starting;
    try {
      await starting;
    } catch (cause) {
      if (this.#starting === starting) this.#starting = null;
      throw AudioError.from(cause, 'microphone');
    }
  }

  /** Switches the microphone off. Resolves when `onChunk` has got the last sound, or could not get it within half a second. */
  stop(): Promise<void> {
    const starting = this.#starting;
    this.#starting = null;
    if (starting) this.#stopping = this.#close(starting);
    return this.#stopping;
  }

  async #close(starting: Promise<Recording>): Promise<void> {
    const recording = await starting.catch(() => null);
    if (!recording) return;
    const { stream, context, node } = recording;
    for (const track of stream.getTracks()) track.stop();
    if (context.state === 'running') {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, LAST_PIECE_MS);
        node.port.addEventListener('message', ({ data }) => {
          if (data !== 'end') return;
          clearTimeout(timer);
          resolve();
        });
        node.port.postMessage('end');
      });
    }
    await context.close();
  }

  async #open(): Promise<Recording> {
    const { deviceId, constraints, pieceMs = 20, workletUrl } = this.#options;
    const devices = navigator.mediaDevices as MediaDevices | undefined;
    if (!devices) throw new AudioError(isSecureContext ? 'unsupported' : 'insecure');
    const stream = await devices.getUserMedia({
      audio: {
        channelCount: 1,
        sampleRate: SAMPLE_RATE,
        echoCancellation: true,
        noiseSuppression: true,
        autoGainControl: true,
        ...(deviceId && { deviceId: { exact: deviceId } }),
        ...constraints,
      },
    });
    // Set no sample rate here, so that the context uses the rate of the microphone: Firefox does not connect a microphone to a context with another rate.
    const context = new AudioContext();
    try {
      await context.audioWorklet
        .addModule(workletUrl ?? new URL('./pcm-recorder-processor.js', import.meta.url))
        .catch((cause) => Promise.reject(new AudioError('worklet', cause)));
      const pieceLength = (SAMPLE_RATE * pieceMs) / 1000;
      const node = new AudioWorkletNode(context, 'pcm-recorder-processor', {
        numberOfOutputs: 0,
        processorOptions: { sampleRate: SAMPLE_RATE, pieceLength } satisfies RecorderSettings,
      });
      node.port.addEventListener('message', ({ data }) => {
        if (data instanceof Float32Array && data.length > 0)
          this.#options.onChunk(convertFloat32ToPCM16(data));
      });
      node.port.start();
      context.createMediaStreamSource(stream).connect(node);
      for (const track of stream.getTracks()) {
        track.addEventListener('ended', () => {
          void this.stop();
          this.#options.onLost?.(new AudioError('unplugged', undefined, 'microphone'));
        });
      }
      await context.resume();
      return { stream, context, node };
    } catch (cause) {
      for (const track of stream.getTracks()) track.stop();
      await context.close();
      throw cause;
    }
  }
}
