import { AudioError } from './audio-error.ts';
import { convertFloat32ToPCM16 } from './pcm.ts';
import type { RecorderSettings } from './pcm-recorder-processor.ts';

/** What the wire takes: 16 kHz, mono. */
const SAMPLE_RATE = 16_000;
/** How long the last piece may take to come. */
const LAST_PIECE_MS = 500;

/** What a recorder needs. */
export interface AudioRecorderOptions {
  /** Gets the sound of the microphone piece by piece: 16 kHz, mono, 16 bits. */
  onChunk: (pcm: Int16Array<ArrayBuffer>) => void;
  /** Is told when the microphone goes away by itself. */
  onLost?: (error: AudioError) => void;
  /** Which microphone; else the one that the browser prefers. */
  deviceId?: string;
  /** Milliseconds of a piece. */
  pieceMs?: number;
  /** Wishes beyond mono sound without echo and noise. */
  constraints?: MediaTrackConstraints;
  /** Where `pcm-recorder-processor.js` of this package is served. */
  workletUrl?: string | URL;
}

interface Recording {
  readonly stream: MediaStream;
  readonly context: AudioContext;
  readonly node: AudioWorkletNode;
}

/** A microphone that is on from `start` to `stop`. */
export class AudioRecorder {
  private readonly options: AudioRecorderOptions;
  private starting: Promise<Recording> | null = null;

  constructor(options: AudioRecorderOptions) {
    this.options = options;
  }

  /** Whether the microphone is on, or about to be. */
  get isOn(): boolean {
    return this.starting !== null;
  }

  /** Asks for the microphone and switches it on; fails with an `AudioError` that says in words why it cannot. */
  async start(): Promise<void> {
    this.starting ??= this.open();
    const { starting } = this;
    try {
      await starting;
    } catch (cause) {
      if (this.starting === starting) this.starting = null;
      throw AudioError.from(cause);
    }
  }

  /** Switches the microphone off; what was said until then has been passed on when it is done. */
  async stop(): Promise<void> {
    const { starting } = this;
    this.starting = null;
    const recording = await starting?.catch(() => null);
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

  private async open(): Promise<Recording> {
    const { deviceId, constraints, pieceMs = 20, workletUrl } = this.options;
    const devices = navigator.mediaDevices as MediaDevices | undefined;
    if (!devices) throw new AudioError(isSecureContext ? 'unsupported' : 'insecure');
    const stream = await devices.getUserMedia({
      audio: {
        channelCount: 1,
        sampleRate: SAMPLE_RATE,
        echoCancellation: true,
        noiseSuppression: true,
        autoGainControl: true,
        ...(deviceId === undefined ? {} : { deviceId: { exact: deviceId } }),
        ...constraints,
      },
    });
    // At its own rate: Firefox connects no microphone to a context of another one.
    const context = new AudioContext();
    try {
      await context.audioWorklet
        .addModule(workletUrl ?? new URL('./pcm-recorder-processor.js', import.meta.url))
        .catch((cause) => Promise.reject(new AudioError('worklet', cause)));
      const processorOptions: RecorderSettings = {
        sampleRate: SAMPLE_RATE,
        pieceLength: (SAMPLE_RATE * pieceMs) / 1000,
      };
      const node = new AudioWorkletNode(context, 'pcm-recorder-processor', {
        numberOfOutputs: 0,
        processorOptions,
      });
      node.port.addEventListener('message', ({ data }) => {
        if (data instanceof Float32Array && data.length > 0)
          this.options.onChunk(convertFloat32ToPCM16(data));
      });
      node.port.start();
      context.createMediaStreamSource(stream).connect(node);
      for (const track of stream.getTracks()) {
        track.addEventListener('ended', () => {
          void this.stop();
          this.options.onLost?.(new AudioError('unplugged'));
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
