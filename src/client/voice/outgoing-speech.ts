import { BINARY, encodeBinary } from '../../protocol/codec.ts';
import type { Connection } from '../link/index.ts';

const SAMPLE_RATE = 16_000;
/** What is kept while there is no connection: half a minute. */
const MAX_HELD = 30 * SAMPLE_RATE;

/** What the person says aloud, on its way to the server. What is said without a connection follows when it is back. */
export class OutgoingSpeech {
  private readonly isText: boolean;
  private connection: Connection | null = null;
  /** Whether the person is saying something. */
  private isOpen = false;
  /** Whether the server knows that. */
  private isTold = false;
  private held: Int16Array[] = [];
  private heldSamples = 0;

  constructor(isText: boolean) {
    this.isText = isText;
  }

  /** Another connection, or the same one come back: the server of it knows nothing yet. */
  connect(connection: Connection | null): void {
    this.connection = connection;
    this.isTold = false;
    this.flush();
  }

  begin(): void {
    this.isOpen = true;
    this.flush();
  }

  push(pcm: Int16Array): void {
    if (!this.isOpen) return;
    this.held.push(pcm);
    this.heldSamples += pcm.length;
    while (this.heldSamples > MAX_HELD) this.heldSamples -= this.held.shift()?.length ?? 0;
    this.flush();
  }

  end(): void {
    this.isOpen = false;
    this.flush();
  }

  private get isLive(): boolean {
    return this.connection?.state.status === 'live';
  }

  private flush(): void {
    const { connection, held } = this;
    if (!connection || !this.isLive) return;
    if (!this.isTold && (this.isOpen || held.length > 0)) {
      // Whether by a key or by listening for it, the ends of what is said are found here.
      this.isTold = connection.send({
        type: 'audio_control',
        data: { action: 'start', detection: 'client' },
      });
    }
    for (const pcm of held.splice(0)) this.send(connection, pcm);
    this.heldSamples = 0;
    if (this.isOpen || !this.isTold) return;
    connection.send({ type: 'audio_control', data: { action: 'stop' } });
    this.isTold = false;
  }

  private send(connection: Connection, pcm: Int16Array): void {
    const payload = new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
    if (this.isText) {
      const chunk = btoa(String.fromCharCode(...payload));
      const data = { chunk, sampleRate: SAMPLE_RATE, channels: 1, bitDepth: 16 };
      connection.send({ type: 'audio_chunk', data });
    } else {
      const frame = encodeBinary({ kind: BINARY.audioUp, sampleRate: SAMPLE_RATE, payload });
      connection.send(frame as Uint8Array<ArrayBuffer>);
    }
  }
}
