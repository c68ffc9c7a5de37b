import { BINARY, type Chunk, DONE, encodeBinary, encodeBlock, SUBPROTOCOL } from '../protocol/index.ts';
import type { Feed, Sound } from './home.ts';
import { Departure, type Window } from './pace.ts';
import type { Socket, SocketLimits } from './socket.ts';

/** What a writer is made of. */
export interface SocketWriterContext {
  socket: Socket;
  window: Window;
  limits: SocketLimits;
  /** The other side does not read; it can come back and resume. */
  onTooSlow: () => void;
}

/** Bytes before the sound in a binary frame. */
const HEADER_BYTES = 8;

/**
 * Writes to one socket what stands in the log, and sound beside it. It is a cursor: what the other side is too slow for
 * waits in the log, and old sound is dropped.
 */
export class SocketWriter {
  /** Whether the other side gets ids, several blocks a frame, and sound as binary. */
  readonly isRich: boolean;
  private readonly context: SocketWriterContext;
  private readonly departure: Departure;
  private sounds: Uint8Array[] = [];
  private soundBytes = 0;
  /** What it writes, once it follows. */
  private log: Feed['log'] | null = null;
  /** The place of what was written last. */
  private seq = 0;
  private omitted: ReadonlySet<string> = new Set();
  private leave: (() => void) | null = null;
  private isOpen = true;
  private isFlushing = false;

  constructor(context: SocketWriterContext) {
    this.context = context;
    this.isRich = context.socket.protocol === SUBPROTOCOL;
    this.departure = new Departure(context.window, () => this.flushSoon());
  }

  /** Writes what stands, and what will come, behind a place in the log, without the requests of the approvals in `omitted`. */
  follow(log: Feed['log'], from: number, omitted: readonly string[]): void {
    this.log = log;
    this.seq = from;
    this.omitted = new Set(omitted);
    this.leave = log.subscribe(() => this.departure.arrived(log.at(log.last)?.chunk?.type));
  }

  /** Whether a chunk is left out: a request, with the step around it when nothing else stands in that. */
  private isOmitted(chunk: Chunk, log: Feed['log']): boolean {
    if (this.omitted.size === 0) return false;
    if (chunk.type === 'tool-approval-request') return this.omitted.has(chunk.approvalId);
    const asks = (seq: number) => {
      const other = log.at(seq)?.chunk;
      return other?.type === 'tool-approval-request' && this.omitted.has(other.approvalId);
    };
    if (chunk.type === 'start-step') return asks(this.seq + 1);
    return chunk.type === 'finish-step' && asks(this.seq - 1);
  }

  /** Sends a chunk that stands in no log, with an id if it marks a place in one. */
  send(chunk: Chunk, id?: string): void {
    if (this.isFlushing) this.flush();
    this.context.socket.send(encodeBlock(chunk, this.isRich ? id : undefined));
  }

  play(sound: Sound): void {
    if (!this.isOpen) return;
    const { socket, limits } = this.context;
    const { data: chunk, sampleRate } = sound;
    if (!this.isRich) {
      if (socket.bufferedAmount > limits.maxSoundBytes) return;
      this.send({
        type: 'data-pcm',
        data: { chunk, sampleRate, channels: 1, bitDepth: 16 },
        transient: true,
      });
      return;
    }
    const payload = Buffer.from(chunk, 'base64');
    this.sounds.push(encodeBinary({ kind: BINARY.audioDown, sampleRate, payload }));
    this.soundBytes += payload.byteLength;
    while (this.soundBytes > limits.maxSoundBytes) this.nextSound();
    this.flush();
  }

  /** Whether so much waits for the network that nothing more is given to it. */
  get isBehind(): boolean {
    const { socket, limits } = this.context;
    return socket.bufferedAmount > limits.maxBufferedBytes;
  }

  /** Sends everything there is, unless too much of it waits for the network. */
  flush(): void {
    this.isFlushing = false;
    if (!this.isOpen) return;
    const { log } = this;
    const { socket, limits, onTooSlow } = this.context;
    if (this.isBehind) {
      const isLost = log && (log.last - this.seq > limits.maxLag || this.seq < log.first - 1);
      return isLost ? onTooSlow() : this.departure.later();
    }
    if (log) this.write(log);
    while (this.sounds.length > 0 && socket.bufferedAmount < limits.maxSoundBytes) {
      const sound = this.nextSound();
      if (sound) socket.send(sound);
    }
  }

  close(): void {
    this.isOpen = false;
    this.leave?.();
  }

  /** Sends all that the log has. */
  private write(log: Feed['log']): void {
    const { socket } = this.context;
    const before = this.seq;
    let text = '';
    for (let entry = log.at(this.seq + 1); entry; entry = log.at(this.seq + 1)) {
      this.seq = entry.seq;
      const { chunk } = entry;
      if (chunk && this.isOmitted(chunk, log)) continue;
      const block = chunk ? encodeBlock(chunk, this.isRich ? `${log.epoch}-${entry.seq}` : undefined) : DONE;
      if (this.isRich) text += block;
      else socket.send(block);
    }
    if (text) socket.send(text);
    if (this.seq > before) this.departure.left();
  }

  /** What is said in one go leaves as one frame: a call is several chunks, and each frame costs as much as the words of a window. */
  private flushSoon(): void {
    if (this.isFlushing) return;
    this.isFlushing = true;
    queueMicrotask(() => {
      if (this.isFlushing) this.flush();
    });
  }

  private nextSound(): Uint8Array | undefined {
    const sound = this.sounds.shift();
    if (sound) this.soundBytes -= sound.byteLength - HEADER_BYTES;
    return sound;
  }
}
