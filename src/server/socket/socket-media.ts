import { type Detection, type Limits, ProtocolError, readBinaryFrame } from '../../protocol/index.ts';
import type { Listener, Session } from '../registry/session.ts';
import { toBase64 } from './base64.ts';
import type { FrameMeter } from './frame-meter.ts';

/** Sound and pictures that come over one socket, on their way to the session. */
export class SocketMedia {
  private readonly listener: Listener;
  private readonly session: Session;
  private readonly meter: FrameMeter;
  /** Whether the microphone is on; null as long as the client has not said. */
  private listens: boolean | null = null;

  constructor(listener: Listener, session: Session, meter: FrameMeter) {
    this.listener = listener;
    this.session = session;
    this.meter = meter;
  }

  /** The person turns the microphone on or off. */
  microphone(action: 'start' | 'stop', detection: Detection): void {
    if (action === 'start') this.session.takeFloor(this.listener);
    if (action === 'start' || this.listens) this.session.microphone(action, detection, this.listener);
    this.listens = action === 'start';
  }

  /** The connection ends, and the microphone with it. */
  close(): void {
    if (this.listens) this.microphone('stop', 'server');
  }

  /** A binary frame. Throws when it is refused. */
  take(bytes: Uint8Array, isRich: boolean, limits: Limits): void {
    // Before it is read: what is too much costs as little as it can.
    if (!this.meter.allowsMedia(bytes.byteLength)) return;
    try {
      if (!isRich)
        throw new ProtocolError('unknown_frame', 'Binary frames need the subprotocol duologue.v1 or v2.');
      const frame = readBinaryFrame(bytes, limits);
      if (frame.type === 'audio') this.giveSound(toBase64(frame.pcm));
      else this.give('image/jpeg', toBase64(frame.jpeg));
    } catch (thrown) {
      // Each refusal is answered: it counts as what asks for an answer does.
      if (this.meter.allows()) throw thrown;
    }
  }

  /** Sound that came as text, in base64. */
  hear(pcm: string): void {
    if (this.meter.allowsMediaBytes(pcm.length)) this.giveSound(pcm);
  }

  /** A picture of the camera that came as text, in base64. */
  see(jpeg: string): void {
    if (this.meter.allowsMediaBytes(jpeg.length)) this.give('image/jpeg', jpeg);
  }

  private giveSound(data: string): void {
    // A client that only sends sound means to be heard; what still comes after its "stop" does not.
    if (this.listens === null) this.microphone('start', 'server');
    if (!this.listens) throw new ProtocolError('bad_audio', 'Send audio_control "start" before sound.');
    this.give('audio/pcm;rate=16000', data);
  }

  private give(mimeType: string, data: string): void {
    this.session.takeFloor(this.listener);
    this.session.media({ mimeType, data }, this.listener);
  }
}
