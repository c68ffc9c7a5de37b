import { WebSocket } from 'ws';
import { soundOf } from './clips.ts';

/** What came back. */
export interface Heard {
  chunks: { type: string; [name: string]: unknown }[];
  /** Seconds of sound that were spoken. */
  seconds: number;
  /** From the end of the user's speech to the first sound, in milliseconds; null before there is any. */
  firstSoundMs: number | null;
}

/** 100 ms of sound: as a page sends it. */
const PIECE = 3200;

/** A user who talks to a server over a socket: holds the key, plays a clip, releases the key. */
export class Speaker {
  readonly heard: Heard = { chunks: [], seconds: 0, firstSoundMs: null };
  private readonly socket: WebSocket;
  private readonly watchers = new Set<() => void>();
  private ended: number | null = null;

  constructor(url: string, session: string) {
    this.socket = new WebSocket(`${url.replace('http', 'ws')}/live?session=${session}`, ['duologue.v2'], {
      origin: url,
    });
    this.socket.on('message', (data: Buffer, isBinary: boolean) => this.take(data, isBinary));
  }

  async opened(): Promise<this> {
    await new Promise((resolve, reject) => this.socket.once('open', resolve).once('error', reject));
    return this;
  }

  /** Says what is in a clip: at once, or as long as it takes. */
  async say(file: string, { inRealTime = false } = {}): Promise<void> {
    const sound = soundOf(file);
    this.frame('audio_control', { action: 'start', detection: 'client' });
    const began = performance.now();
    for (let at = 0; at < sound.length; at += PIECE) {
      const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
      header.writeUInt32LE(16_000, 4);
      this.socket.send(Buffer.concat([header, sound.subarray(at, at + PIECE)]));
      const due = began + (at + PIECE) / 32;
      if (inRealTime) await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    }
    this.heard.firstSoundMs = null;
    this.ended = performance.now();
    this.frame('audio_control', { action: 'stop' });
  }

  type(text: string): void {
    this.frame('message', { messages: [{ role: 'user', parts: [{ type: 'text', text }] }] });
  }

  /** Resolves when this holds of what came back. */
  until(holds: (heard: Heard) => boolean): Promise<Heard> {
    return new Promise((resolve) => {
      const look = () => {
        if (!holds(this.heard)) return;
        this.watchers.delete(look);
        resolve(this.heard);
      };
      this.watchers.add(look);
      look();
    });
  }

  close(): void {
    this.socket.terminate();
  }

  private frame(type: string, data: object): void {
    this.socket.send(JSON.stringify({ type, data }));
  }

  private take(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.heard.seconds += (data.length - 8) / 48_000;
      if (this.ended !== null) this.heard.firstSoundMs ??= performance.now() - this.ended;
    } else {
      for (const line of data.toString().split('\n')) {
        if (line.startsWith('data: {')) this.heard.chunks.push(JSON.parse(line.slice(6)));
      }
    }
    for (const look of [...this.watchers]) look();
  }
}

/** The chunks of a type. */
export function ofType({ chunks }: Heard, type: string): Heard['chunks'] {
  return chunks.filter((chunk) => chunk.type === type);
}
