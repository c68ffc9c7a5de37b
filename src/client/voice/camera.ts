import { BINARY, encodeBinary } from '../../protocol/codec.ts';
import { AudioError } from '../audio/audio-error.ts';
import type { Connection } from '../link/index.ts';

/** What a camera may be told. */
export interface CameraOptions {
  /** What is shown: what is before a camera, or a screen. */
  source?: 'camera' | 'screen';
  /** Which camera; else the one that the browser prefers. */
  deviceId?: string;
  /** The longer side of a picture, in pixels. */
  maxSide?: number;
  /** The bytes of a picture: one that is larger is made worse until it fits, or left out. */
  maxBytes?: number;
  /** Milliseconds between two pictures, a second at least. */
  everyMs?: number;
  /** Gets the pictures, as JPEG. */
  onPicture: (jpeg: Uint8Array<ArrayBuffer>) => void;
  /** Is told when the camera goes away by itself, or the person ends it in the browser. */
  onLost?: (error: AudioError) => void;
}

const SECOND = 1000;
const QUALITIES = [0.7, 0.5, 0.3];

/** A camera or a screen that is shown from `start` to `stop`, in pictures. */
export class Camera {
  private readonly options: CameraOptions;
  private timer: ReturnType<typeof setInterval> | undefined;
  private starting: Promise<MediaStream> | null = null;
  private readonly video = document.createElement('video');

  constructor(options: CameraOptions) {
    this.options = options;
    this.video.muted = true;
    this.video.playsInline = true;
  }

  /** Asks the person and begins; the stream is for a preview. Fails with an `AudioError` that says why it cannot. */
  async start(): Promise<MediaStream> {
    this.starting ??= this.open();
    const { starting } = this;
    try {
      const stream = await starting;
      if (this.starting !== starting) throw new AudioError('unplugged');
      return stream;
    } catch (cause) {
      if (this.starting === starting) this.starting = null;
      throw AudioError.from(cause);
    }
  }

  stop(): void {
    const { starting } = this;
    this.starting = null;
    clearInterval(this.timer);
    this.video.srcObject = null;
    void starting?.then(end, () => undefined);
  }

  private async open(): Promise<MediaStream> {
    const { source = 'camera', deviceId, everyMs = SECOND, onLost } = this.options;
    const devices = navigator.mediaDevices as MediaDevices | undefined;
    if (!devices) throw new AudioError(isSecureContext ? 'unsupported' : 'insecure');
    const stream = await (source === 'screen'
      ? devices.getDisplayMedia({ video: { frameRate: 1 } })
      : devices.getUserMedia({ video: deviceId ? { deviceId: { exact: deviceId } } : true }));
    for (const track of stream.getTracks()) {
      track.addEventListener('ended', () => {
        this.stop();
        onLost?.(new AudioError('unplugged'));
      });
    }
    this.video.srcObject = stream;
    await this.video.play();
    this.timer = setInterval(() => void this.take(), Math.max(SECOND, everyMs));
    await this.take();
    return stream;
  }

  /** Takes a picture, unless the page is hidden: then there is nobody who shows something. */
  private async take(): Promise<void> {
    const { maxSide = 768, maxBytes = 200_000, onPicture } = this.options;
    const { videoWidth, videoHeight } = this.video;
    if (document.hidden || videoWidth === 0) return;
    const scale = Math.min(1, maxSide / Math.max(videoWidth, videoHeight));
    const canvas = new OffscreenCanvas(Math.round(videoWidth * scale), Math.round(videoHeight * scale));
    canvas.getContext('2d')?.drawImage(this.video, 0, 0, canvas.width, canvas.height);
    for (const quality of QUALITIES) {
      const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality });
      if (blob.size > maxBytes) continue;
      const jpeg = new Uint8Array(await blob.arrayBuffer());
      if (this.starting) onPicture(jpeg);
      return;
    }
  }
}

/** Shows a picture to the model of a connection; false when it does not leave. */
export function showPicture(connection: Connection, jpeg: Uint8Array<ArrayBuffer>): boolean {
  const frame = encodeBinary({ kind: BINARY.video, sampleRate: 0, payload: jpeg });
  return connection.send(frame as Uint8Array<ArrayBuffer>);
}

function end(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}
