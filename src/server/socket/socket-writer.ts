import {
  type Chunk,
  DONE,
  encodeBlock,
  formatChunkId,
  isForWatchers,
  type Message,
  SUBPROTOCOL,
  WATCHING_SUBPROTOCOL,
} from '../../protocol/index.ts';
import { presented } from '../files.ts';
import { type BatchTimer, Departure } from '../output/pace.ts';
import { pcmOf, SAMPLE_BYTES, type Sound, soundBytes } from '../output/utterances.ts';
import type { Feed } from '../registry/session.ts';
import { type Socket, type SocketLimits, toBase64 } from './socket.ts';

/** The objects and callbacks that a writer uses. */
export interface SocketWriterContext {
  socket: Socket;
  window: BatchTimer;
  limits: SocketLimits;
  /** Returns the messages with an absolute URL for each stored file. */
  present?: (messages: Message[]) => Message[];
  /** Called when the client lags too far. The client can reconnect and resume. */
  onTooSlow: () => void;
}

/** Writes the chunks of the log, and sound, to one socket. While the client is too slow, the chunks stay in the log, and the oldest sound is dropped. */
export class SocketWriter {
  /** Whether the socket has a subprotocol of Duologue. Then each chunk has an id, a frame may have several blocks, and sound comes in binary frames. */
  readonly isRich: boolean;
  /** Whether the client gets the chunks about changes that other pages make. */
  private readonly isWatching: boolean;
  private readonly context: SocketWriterContext;
  private readonly departure: Departure;
  private sounds: Sound[] = [];
  private soundBytes = 0;
  /** The sound that was written last: the number of its utterance (`n`), and the index of the sample that follows it (`next`). */
  private spoken: { n: number; next: number } | null = null;
  /** The log; null before `follow` is called. */
  private log: Feed['log'] | null = null;
  /** The seq of the log entry that was written last. */
  private seq = 0;
  private omitted: ReadonlySet<string> = new Set();
  private leave: (() => void) | null = null;
  private isOpen = true;
  private isFlushing = false;

  constructor(context: SocketWriterContext) {
    this.context = context;
    const { protocol } = context.socket;
    this.isWatching = protocol === WATCHING_SUBPROTOCOL;
    this.isRich = protocol === SUBPROTOCOL || protocol === WATCHING_SUBPROTOCOL;
    this.departure = new Departure(context.window, () => this.flushSoon());
  }

  /** From now on writes the entries of a log after the seq `from`, without the approval requests whose ids are in `omitted`. */
  follow(log: Feed['log'], from: number, omitted: readonly string[]): void {
    this.log = log;
    this.seq = from;
    this.omitted = new Set(omitted);
    this.leave = log.subscribe(() =>
      this.departure.arrived(log.isGathered ? undefined : log.at(log.last)?.chunk?.type),
    );
  }

  /**
   * Whether a chunk is not sent to this client. Only watchers get chunks for watchers. An approval request in `omitted` is not sent, nor is a step that has
   * only that request.
   */
  private isOmitted(chunk: Chunk, log: Feed['log']): boolean {
    if (!this.isWatching && isForWatchers(chunk)) return true;
    if (this.omitted.size === 0) return false;
    if (chunk.type === 'tool-approval-request') return this.omitted.has(chunk.approvalId);
    const asks = (seq: number) => {
      const other = log.at(seq)?.chunk;
      return other?.type === 'tool-approval-request' && this.omitted.has(other.approvalId);
    };
    if (chunk.type === 'start-step') return asks(this.seq + 1);
    return chunk.type === 'finish-step' && asks(this.seq - 1);
  }

  /** Sends a chunk that is not in the log. Chunks of the log that are about to be sent are sent before it. */
  send(chunk: Chunk, id?: string): void {
    if (this.isFlushing) this.flush();
    this.context.socket.send(encodeBlock(chunk, this.isRich ? id : undefined));
  }

  play(sound: Sound): void {
    if (!this.isOpen) return;
    this.sounds.push(sound);
    this.soundBytes += soundBytes(sound);
    while (this.soundBytes > this.context.limits.maxSoundBytes) this.nextSound();
    this.flush();
  }

  /** Drops sound that is not sent yet. */
  stopPlayback(): void {
    this.sounds = [];
    this.soundBytes = 0;
  }

  /** Whether so many bytes wait for the network that nothing more is written. */
  get isBehind(): boolean {
    const { socket, limits } = this.context;
    return socket.bufferedAmount > limits.maxBufferedBytes;
  }

  /**
   * Writes all chunks that wait, and as much of the sound as may wait for the network. While too many bytes wait for the network, writes nothing, and calls
   * `onTooSlow` once the client lags too far.
   */
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
    // The lease may have ended while this process was suspended. Then another process may own the session, so sound of this process must not be sent.
    if (log?.isHeld && this.sounds.length > 0) return this.departure.later();
    while (this.sounds.length > 0 && socket.bufferedAmount < limits.maxSoundBytes) {
      const sound = this.nextSound();
      if (sound) this.writeSound(sound);
    }
  }

  /** Sends sound. A client with a subprotocol gets `data-sound` before a new utterance and after a gap. */
  private writeSound(sound: Sound): void {
    const { n, messageId, sampleRate, at, frame } = sound;
    const { socket } = this.context;
    if (!this.isRich) {
      const chunk = toBase64(pcmOf(sound));
      const data = { chunk, sampleRate, channels: 1 as const, bitDepth: 16 as const, messageId };
      socket.send(encodeBlock({ type: 'data-pcm', data, transient: true }));
      return;
    }
    if (this.spoken?.n !== n || this.spoken.next !== at) {
      socket.send(
        encodeBlock({ type: 'data-sound', data: { n, messageId, sampleRate, at }, transient: true }),
      );
    }
    socket.send(frame);
    this.spoken = { n, next: at + Math.floor(soundBytes(sound) / SAMPLE_BYTES) };
  }

  close(): void {
    this.isOpen = false;
    this.leave?.();
  }

  /** Writes the entries of the log that are not written yet. */
  private write(log: Feed['log']): void {
    const { socket, present } = this.context;
    const before = this.seq;
    let text = '';
    for (let entry = log.at(this.seq + 1); entry; entry = log.at(this.seq + 1)) {
      this.seq = entry.seq;
      const { chunk } = entry;
      if (chunk && this.isOmitted(chunk, log)) continue;
      const block = chunk
        ? encodeBlock(
            present ? presented(chunk, present) : chunk,
            this.isRich ? formatChunkId({ epoch: log.epoch, seq: entry.seq }) : undefined,
          )
        : DONE;
      if (this.isRich) text += block;
      else socket.send(block);
    }
    if (text) socket.send(text);
    if (this.seq > before) this.departure.left();
  }

  /**
   * Flushes at the end of the current tick. So a client with a subprotocol gets the chunks of the tick, such as those of a tool call, in one frame: each
   * frame is costly to send.
   */
  private flushSoon(): void {
    if (this.isFlushing) return;
    this.isFlushing = true;
    queueMicrotask(() => {
      if (this.isFlushing) this.flush();
    });
  }

  private nextSound(): Sound | undefined {
    const sound = this.sounds.shift();
    if (sound) this.soundBytes -= soundBytes(sound);
    return sound;
  }
}
