import { BINARY, encodeBinary } from '../../protocol/codec.ts';
import { AudioError } from '../audio/audio-error.ts';
import type { Connection } from '../link/index.ts';

/** Options of a camera. */
export interface CameraOptions {
  /** The source of the pictures: the camera (default) or a shared screen. */
  source?: 'camera' | 'screen';
  /** The device id of the camera. Default: the camera that the browser prefers. */
  deviceId?: string;
  /** The largest length of the longer side of a picture, in pixels. A larger picture is scaled down. Default: 768. */
  maxSide?: number;
  /** The largest size of a picture in bytes. A larger picture is encoded with a lower quality, and dropped if even that is too large. Default: 200,000. */
  maxBytes?: number;
  /** Milliseconds between two pictures, at least 1,000. Default: 1,000. */
  everyMs?: number;
  /** Gets the pictures, as JPEG. */
  onPicture: (jpeg: Uint8Array<ArrayBuffer>) => void;
  /** Called when the camera was unplugged, or the user stopped sharing in the browser. */
  onLost?: (error: AudioError) => void;
}

const SECOND = 1000;
const QUALITIES = [0.7, 0.5, 0.3];

/**
 * Takes pictures with a camera, or of a screen, from `start` to `stop`.
 *
 * @example
 * const camera = new Camera({ onPicture: (jpeg) => showPicture(transport.connection, jpeg) });
 * preview.srcObject = await camera.start();
 */
export class Camera {
  readonly #options: CameraOptions;
  #timer: ReturnType<typeof setInterval> | undefined;
  #starting: Promise<MediaStream> | null = null;
  readonly #video = document.createElement('video');

  constructor(options: CameraOptions) {
    this.#options = options;
    this.#video.muted = true;
    this.#video.playsInline = true;
  }

  /**
   * Asks the user for the camera or screen, and starts. Returns the stream, for a preview. Throws an `AudioError` when that fails, or when `stop` is
   * called before the camera has started.
   */
  async start(): Promise<MediaStream> {
    const { source = 'camera' } = this.#options;
    this.#starting ??= this.#open();
    const starting = this.#starting;
    try {
      const stream = await starting;
      if (this.#starting !== starting) throw new AudioError('unplugged', undefined, source);
      return stream;
    } catch (cause) {
      if (this.#starting === starting) this.#starting = null;
      throw AudioError.from(cause, source);
    }
  }

  stop(): void {
    const starting = this.#starting;
    this.#starting = null;
    clearInterval(this.#timer);
    this.#video.srcObject = null;
    const end = (stream: MediaStream) => {
      for (const track of stream.getTracks()) track.stop();
    };
    void starting?.then(end, () => undefined);
  }

  async #open(): Promise<MediaStream> {
    const { source = 'camera', deviceId, everyMs = SECOND, onLost } = this.#options;
    const devices = navigator.mediaDevices as MediaDevices | undefined;
    if (!devices) throw new AudioError(isSecureContext ? 'unsupported' : 'insecure');
    const stream = await (source === 'screen'
      ? devices.getDisplayMedia({ video: { frameRate: 1 } })
      : devices.getUserMedia({ video: deviceId ? { deviceId: { exact: deviceId } } : true }));
    for (const track of stream.getTracks()) {
      track.addEventListener('ended', () => {
        this.stop();
        onLost?.(new AudioError('unplugged', undefined, source));
      });
    }
    this.#video.srcObject = stream;
    await this.#video.play();
    this.#timer = setInterval(() => void this.#take(), Math.max(SECOND, everyMs));
    await this.#take();
    return stream;
  }

  /** Takes a picture, unless the page is hidden. */
  async #take(): Promise<void> {
    const { maxSide = 768, maxBytes = 200_000, onPicture } = this.#options;
    const { videoWidth, videoHeight } = this.#video;
    if (document.hidden || videoWidth === 0) return;
    const scale = Math.min(1, maxSide / Math.max(videoWidth, videoHeight));
    const canvas = new OffscreenCanvas(Math.round(videoWidth * scale), Math.round(videoHeight * scale));
    canvas.getContext('2d')?.drawImage(this.#video, 0, 0, canvas.width, canvas.height);
    for (const quality of QUALITIES) {
      const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality });
      if (blob.size > maxBytes) continue;
      const jpeg = new Uint8Array(await blob.arrayBuffer());
      if (this.#starting) onPicture(jpeg);
      return;
    }
  }
}

/** Sends a picture to the model of a connection. Returns false when the picture was not sent. */
export function showPicture(connection: Connection, jpeg: Uint8Array<ArrayBuffer>): boolean {
  const frame = encodeBinary({ kind: BINARY.video, sampleRate: 0, payload: jpeg });
  return connection.send(frame as Uint8Array<ArrayBuffer>);
}
