import {
  BINARY,
  type Chunk,
  type ClientFrame,
  DONE,
  ERRORS,
  type ErrorCode,
  encodeBinary,
  encodeBlock,
  type Message,
  ProtocolError,
  parseChunkId,
  readBinaryFrame,
  readFrame,
  SUBPROTOCOL,
  toProtocolError,
} from '../protocol/index.ts';
import type { Clock } from './clock.ts';
import type { Sound } from './live.ts';
import type { Logger } from './logger.ts';
import { decidedIn } from './output.ts';
import { RateLimiter } from './rate-limit.ts';
import type { Pacing } from './response-reader.ts';
import type { Session } from './session.ts';

/** A socket as the server needs it; each WebSocket library is a few lines away from it. */
export interface Socket {
  /** The subprotocol that was agreed on, or an empty text. */
  readonly protocol: string;
  /** Bytes that are not on the network yet. */
  readonly bufferedAmount: number;
  send(data: string | Uint8Array): void;
  ping(): void;
  close(code: number, reason: string): void;
}

/** Limits of a connection. */
export interface SocketLimits {
  /** Text that a slow reader may owe before sending waits. */
  maxBufferedBytes: number;
  /** Sound that may wait for a slow reader; older sound is dropped. */
  maxSoundBytes: number;
  /** Chunks a reader may be behind before it is closed; it can come back and resume. */
  maxLag: number;
  /** Frames per second, apart from sound and pictures in binary. */
  framesPerSecond: number;
  /** Bytes of sound and pictures per second; several times as much as a microphone and a camera give. */
  mediaBytesPerSecond: number;
  heartbeatMs: number;
  /** A peer that gives no sign for so long is gone. */
  silenceMs: number;
  idleMs: number;
}

/** The limits of the protocol. */
export const DEFAULT_SOCKET_LIMITS: SocketLimits = {
  maxBufferedBytes: 1024 * 1024,
  maxSoundBytes: 512 * 1024,
  maxLag: 30_000,
  framesPerSecond: 100,
  mediaBytesPerSecond: 2 * 1024 * 1024,
  heartbeatMs: 20_000,
  silenceMs: 60_000,
  idleMs: 30 * 60_000,
};

/** What a connection is made of. */
export interface ConnectionContext {
  id: string;
  socket: Socket;
  session: Session;
  /** The last chunk the client saw, as it said it. */
  last: string | null;
  clock: Clock;
  pacing: Pacing;
  logger: Logger;
  limits: SocketLimits;
  /** Takes one from the user's allowance: milliseconds to wait, 0 for none. */
  allow: () => number;
  /** Files of messages by their whole address. */
  present: (messages: Message[]) => Message[];
  onEnd: (connection: Connection) => void;
}

const MAX_DROPPED = 2000;
/** Seconds of sound and pictures that may come at once. */
const MEDIA_BURST = 8;

/** One socket of one session: frames in, chunks and sound out. It decides nothing about the conversation. */
export class Connection {
  readonly id: string;
  private readonly context: ConnectionContext;
  private readonly session: Session;
  private readonly rich: boolean;
  private readonly frames: RateLimiter;
  private readonly media: RateLimiter;
  private readonly leave: (() => void)[] = [];
  private sounds: Uint8Array[] = [];
  private soundBytes = 0;
  private seq: number;
  private scheduled = false;
  private flushedAt = 0;
  private listens = false;
  private aliveAt: number;
  private lastInput: number;
  private dropped = 0;
  private isOpen = true;
  private cancelBeat: (() => void) | null = null;
  private omitted: ReadonlySet<string> = new Set();

  constructor(context: ConnectionContext) {
    const { session, clock, limits } = context;
    this.id = context.id;
    this.context = context;
    this.session = session;
    this.rich = context.socket.protocol === SUBPROTOCOL;
    this.lastInput = clock.now();
    this.aliveAt = this.lastInput;
    this.frames = new RateLimiter(
      { burst: limits.framesPerSecond * 2, perMinute: limits.framesPerSecond * 60 },
      clock,
    );
    this.media = new RateLimiter(
      { burst: limits.mediaBytesPerSecond * MEDIA_BURST, perMinute: limits.mediaBytesPerSecond * 60 },
      clock,
    );
    this.seq = session.output.log.last;
  }

  /** Greets, gives what was missed, and goes live. */
  async open(): Promise<void> {
    const { session, context } = this;
    const { output, live } = session;
    const { log } = output;
    const named = context.last === null ? null : parseChunkId(context.last);
    const resumed =
      named !== null && named.epoch === log.epoch && named.seq >= log.first - 1 && named.seq <= log.last;
    const current = session.current;
    const start = current === null ? null : output.startOf(current);
    this.seq = resumed ? named.seq : start === null ? log.last : start - 1;
    // A card that was decided is not shown again: no chunk could take the decision along.
    if (!resumed) this.omitted = decidedIn(current === null ? null : await output.load(current));
    const greeting: Chunk = {
      type: 'data-session',
      data: {
        sessionId: session.key.id,
        connectionId: this.id,
        epoch: log.epoch,
        resumed,
        newest: `${log.epoch}-${log.last}`,
      },
      transient: true,
    };
    // Its id is the place where the connection begins: one that breaks before the first chunk can resume, too.
    this.send(encodeBlock(greeting, this.rich ? `${log.epoch}-${this.seq}` : undefined));
    if (context.last !== null && !resumed) {
      const stored = await session.engine.store.loadMessages(session.key);
      // What is being written follows from its first chunk on or, when that is no longer kept, stands here as it is now.
      const messages =
        start === null ? output.asNow(stored) : stored.filter((message) => message.id !== current);
      if (start === null) this.seq = log.last;
      this.sendChunk({ type: 'data-reset', data: { messages: context.present(messages) }, transient: true });
    }
    if (!this.isOpen) return;
    live.onSound = (sound) => this.play(sound);
    this.leave.push(log.subscribe(() => this.arrived()));
    this.beat();
    live.takeUp();
    this.flush();
  }

  /** A frame from the client. Never throws. */
  receive(data: string | Uint8Array): void {
    if (!this.isOpen) return;
    this.aliveAt = this.context.clock.now();
    this.lastInput = this.aliveAt;
    try {
      if (typeof data !== 'string') return this.receiveBinary(data);
      if (this.frames.take('') > 0) return this.drop();
      this.act(readFrame(data));
    } catch (thrown) {
      this.complain(thrown);
    }
  }

  /** The other side is still there. */
  pong(): void {
    this.aliveAt = this.context.clock.now();
  }

  /** The socket is gone. */
  closed(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    for (const leave of this.leave) leave();
    this.cancelBeat?.();
    if (this.session.live.onSound !== null && this.session.holder === this) this.session.live.onSound = null;
    this.context.onEnd(this);
  }

  /** Tells the client why, and closes. */
  end(code: ErrorCode, message: string): void {
    if (!this.isOpen) return;
    this.flush(true);
    this.sendChunk({ type: 'data-error', data: new ProtocolError(code, message).toWire(), transient: true });
    const meaning = ERRORS[code];
    this.context.socket.close('close' in meaning ? meaning.close : 1000, message.slice(0, 120));
    this.closed();
  }

  private act(frame: ClientFrame): void {
    const { live } = this.session;
    if (frame.type !== 'ping') this.session.touchedAt = this.aliveAt;
    switch (frame.type) {
      case 'ping':
        this.context.socket.send(JSON.stringify({ type: 'pong', timestamp: frame.timestamp ?? null }));
        return;
      case 'interrupt':
        return this.follow(this.session.stop());
      case 'answers':
        return this.follow(live.answer(frame.answers));
      case 'message': {
        const wait = this.context.allow();
        if (wait > 0) {
          throw new ProtocolError(
            'rate_limited',
            `Too many messages. Try again in ${Math.ceil(wait / 1000)} s.`,
            {
              retryAfterMs: wait,
            },
          );
        }
        const { input, trigger, messageId, requestId } = frame;
        const again = trigger === 'regenerate-message' || messageId !== undefined;
        return this.follow(
          input.kind === 'answers' ? live.answer(input.answers) : live.say(input, { again, requestId }),
        );
      }
      case 'audio_control':
        this.listens = frame.action === 'start';
        return;
      case 'audio_chunk':
        return this.hear(frame.pcm);
      case 'video_frame':
        return this.see(frame.jpeg);
    }
  }

  private receiveBinary(bytes: Uint8Array): void {
    if (!this.rich) throw new ProtocolError('unknown_frame', 'Binary frames need the duologue.v1 protocol.');
    const frame = readBinaryFrame(bytes);
    if (frame.type === 'audio') this.hear(Buffer.from(frame.pcm).toString('base64'));
    else this.see(Buffer.from(frame.jpeg).toString('base64'));
  }

  private hear(pcm: string): void {
    if (!this.listens) throw new ProtocolError('bad_audio', 'Send audio_control "start" before sound.');
    this.take({ mimeType: 'audio/pcm;rate=16000', data: pcm });
  }

  private see(jpeg: string): void {
    this.take({ mimeType: 'image/jpeg', data: jpeg });
  }

  /** Sound and pictures beyond what a person can give are dropped before they gather anywhere. */
  private take(blob: { mimeType: string; data: string }): void {
    if (this.media.take('', blob.data.length) > 0) return this.drop();
    this.follow(this.session.live.hear(blob));
  }

  private follow(work: Promise<unknown>): void {
    work.catch((thrown) => this.complain(thrown));
  }

  private complain(thrown: unknown): void {
    const error = toProtocolError(thrown);
    if (error.code === 'internal') {
      this.context.logger.error('a frame failed', {
        connection: this.id,
        session: this.session.key.id,
        error: String(thrown),
      });
    }
    if (error.code === 'invalid_frame') return this.end(error.code, error.message);
    if (this.isOpen) this.sendChunk({ type: 'data-error', data: error.toWire(), transient: true });
  }

  private drop(): void {
    this.dropped++;
    if (this.dropped > MAX_DROPPED) return this.end('flooded', 'Too many frames.');
    if (this.dropped % 100 === 1) {
      this.complain(
        new ProtocolError('rate_limited', 'Too many frames: some were dropped.', { retryAfterMs: 1000 }),
      );
    }
  }

  /** Something new in the log: what a person waits for leaves at once, words gather for a moment. */
  private arrived(): void {
    const { log } = this.session.output;
    const type = log.at(log.last)?.chunk?.type;
    const isWord = type === 'text-delta' || type === 'reasoning-delta';
    if (!isWord || this.context.clock.now() - this.flushedAt > 50) return this.flush();
    if (this.scheduled) return;
    this.scheduled = true;
    this.context.pacing.window.wake(() => {
      this.scheduled = false;
      this.flush();
    });
  }

  private flush(force = false): void {
    if (!this.isOpen) return;
    const { socket, limits, pacing, clock } = this.context;
    const { log } = this.session.output;
    if (!force && socket.bufferedAmount > limits.maxBufferedBytes) {
      if (log.last - this.seq > limits.maxLag || this.seq < log.first - 1) {
        return this.end('too_slow', 'The connection reads too slowly. It can come back and resume.');
      }
      if (!this.scheduled) {
        this.scheduled = true;
        pacing.window.wake(() => {
          this.scheduled = false;
          this.flush();
        });
      }
      return;
    }
    this.flushedAt = clock.now();
    let text = '';
    for (let entry = log.at(this.seq + 1); entry; entry = log.at(this.seq + 1)) {
      this.seq = entry.seq;
      const { chunk } = entry;
      if (chunk?.type === 'tool-approval-request' && this.omitted.has(chunk.approvalId)) continue;
      const block = entry.chunk
        ? encodeBlock(entry.chunk, this.rich ? `${log.epoch}-${entry.seq}` : undefined)
        : DONE;
      if (this.rich) text += block;
      else socket.send(block);
    }
    if (text) socket.send(text);
    this.sendSounds();
  }

  private play(sound: Sound): void {
    if (!this.isOpen) return;
    if (!this.rich) {
      if (this.context.socket.bufferedAmount > this.context.limits.maxSoundBytes) return;
      this.sendChunk({
        type: 'data-pcm',
        data: { chunk: sound.data, sampleRate: sound.sampleRate, channels: 1, bitDepth: 16 },
        transient: true,
      });
      return;
    }
    const payload = Buffer.from(sound.data, 'base64');
    this.sounds.push(encodeBinary({ kind: BINARY.audioDown, sampleRate: sound.sampleRate, payload }));
    this.soundBytes += payload.byteLength;
    while (this.soundBytes > this.context.limits.maxSoundBytes)
      this.soundBytes -= (this.sounds.shift()?.byteLength ?? 0) - 8;
    this.flush();
  }

  private sendSounds(): void {
    const { socket, limits } = this.context;
    while (this.sounds.length > 0 && socket.bufferedAmount < limits.maxSoundBytes) {
      const sound = this.sounds.shift();
      if (!sound) break;
      this.soundBytes -= sound.byteLength - 8;
      socket.send(sound);
    }
  }

  private sendChunk(chunk: Chunk): void {
    this.send(encodeBlock(chunk));
  }

  private send(text: string): void {
    this.context.socket.send(text);
  }

  /** Finds out about peers that are gone without a word, and about those that only sit there. */
  private beat(): void {
    const { clock, limits, socket } = this.context;
    this.cancelBeat = clock.after(limits.heartbeatMs, () => {
      if (!this.isOpen) return;
      if (clock.now() - this.aliveAt >= limits.silenceMs) return this.end('idle', 'No sign of life.');
      const quiet = clock.now() - Math.max(this.lastInput, this.session.touchedAt);
      if (quiet > limits.idleMs) return this.end('idle', 'Nothing happened for a long time.');
      socket.ping();
      this.beat();
    });
  }
}
