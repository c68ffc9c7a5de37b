import { exhaustive } from '../protocol/exhaustive.ts';
import {
  type Chunk,
  type ClientFrame,
  ERRORS,
  type ErrorCode,
  formatChunkId,
  type Limits,
  type Message,
  ProtocolError,
  readBinaryFrame,
  readFrame,
  readFrameValue,
  toProtocolError,
  WATCHING_SUBPROTOCOL,
} from '../protocol/index.ts';
import type { HeldBytes } from './byte-budget.ts';
import type { Clock } from './clock.ts';
import { acceptedChunk } from './conversation/aside.ts';
import type { Asked, Feed, Listener, Place, Session } from './home.ts';
import { Intake, type WholeFrame } from './intake.ts';
import type { LargeJson } from './large-json.ts';
import type { Logger } from './logger.ts';
import { RateLimiter, rateLimited } from './rate-limit.ts';
import type { Pacing } from './response-reader.ts';
import type { Identity } from './sign-in.ts';
import type { Socket, SocketLimits } from './socket.ts';
import { SocketWriter } from './socket-writer.ts';
import type { Sound } from './utterances.ts';

/** What a connection is made of. */
export interface ConnectionContext {
  id: string;
  socket: Socket;
  session: Session;
  /** Whose connection it is. */
  identity: Identity;
  /** What the client has, as it said it. */
  place: Place;
  clock: Clock;
  pacing: Pacing;
  logger: Logger;
  limits: SocketLimits;
  /** How much is taken in one frame. */
  protocolLimits: Limits;
  large: LargeJson;
  /** Counts the bytes of frames, until they are taken. */
  held: HeldBytes;
  /** How long a frame may take to arrive. */
  arrivalMs: number;
  /** Takes one from what is allowed to the user: milliseconds to wait, 0 for none. */
  allow: { message: () => number; answer: () => number };
  /** Files of messages by their whole address. */
  present: (messages: Message[]) => Message[];
  onEnd: (connection: Connection) => void;
}

/** What is wrong with a frame so that nothing behind it can be read. */
const ENDING: ReadonlySet<ErrorCode> = new Set(['invalid_frame', 'idle', 'overloaded']);
const MAX_DROPPED = 2000;
/** Seconds of sound and pictures that may come at once. */
const MEDIA_BURST = 8;

/** One socket of one session: frames in, chunks and sound out. It decides nothing about the conversation. */
export class Connection {
  readonly id: string;
  readonly watches: Listener['watches'];
  private readonly context: ConnectionContext;
  private readonly session: Session;
  private readonly writer: SocketWriter;
  private readonly frames: RateLimiter;
  private readonly mediaFrames: RateLimiter;
  private readonly mediaBytes: RateLimiter;
  private listens = false;
  private aliveAt: number;
  /** When something was said last, as far as it is known. */
  private activeAt: number;
  private dropped = 0;
  private isOpen = true;
  private feed: Feed | null = null;
  /** The newest entry of the log at the last beat. */
  private seqAtBeat = 0;
  private cancelBeat: (() => void) | null = null;
  private readonly intake: Intake;

  constructor(context: ConnectionContext) {
    const { socket, session, clock, limits, pacing } = context;
    this.id = context.id;
    this.watches = socket.protocol === WATCHING_SUBPROTOCOL ? 'when-another-speaks' : 'never';
    this.context = context;
    this.session = session;
    this.activeAt = clock.elapsed();
    this.aliveAt = this.activeAt;
    const limiter = (perSecond: number, burst: number) =>
      new RateLimiter({ burst: perSecond * burst, perMinute: perSecond * 60 }, clock);
    this.frames = limiter(limits.framesPerSecond, 2);
    this.mediaFrames = limiter(limits.mediaFramesPerSecond, MEDIA_BURST);
    this.mediaBytes = limiter(limits.mediaBytesPerSecond, MEDIA_BURST);
    this.intake = new Intake({
      held: context.held,
      arrivalMs: context.arrivalMs,
      clock,
      large: context.large,
      take: (frame) => this.take(frame),
      refuse: (error) => this.complain(error),
    });
    this.writer = new SocketWriter({
      socket,
      window: pacing.window,
      limits,
      onTooSlow: () => this.end('too_slow', 'The connection reads too slowly. It can come back and resume.'),
    });
  }

  /** Greets, gives what was missed, and goes live. */
  async open(): Promise<void> {
    const { session, context, writer } = this;
    const joined = await session.join(this, context.place);
    if (!this.isOpen) return;
    const { feed, from, resumed, newest, reset, opening, omitted, sounds, info } = joined;
    const { epoch } = feed.log;
    const sessionId = session.key.id;
    // Its id is the place where the connection begins: one that breaks before the first chunk can resume, too.
    writer.send(
      {
        type: 'data-session',
        data: { sessionId, connectionId: this.id, epoch, resumed, newest, ...info },
        transient: true,
      },
      formatChunkId({ epoch, seq: from }),
    );
    if (reset) {
      writer.send({ type: 'data-reset', data: { messages: context.present(reset) }, transient: true });
    }
    for (const chunk of opening) writer.send(chunk);
    this.feed = feed;
    this.seqAtBeat = feed.log.last;
    writer.follow(feed.log, from, omitted);
    this.beat();
    writer.flush();
    for (const sound of sounds) writer.play(sound);
  }

  /** A piece of that many bytes came off the socket; the frames that ended in it were received. */
  arrived(piece: number): void {
    if (this.isOpen) this.intake.arrived(piece);
  }

  /** A frame from the client. Never throws. */
  receive(data: Uint8Array, isBinary: boolean): void {
    if (!this.isOpen) return;
    this.aliveAt = this.context.clock.elapsed();
    this.activeAt = this.aliveAt;
    this.intake.receive(data, isBinary);
  }

  /** The other side asks whether this one is still there. */
  ping(data: Uint8Array): void {
    if (!this.isOpen || this.isTooMany()) return;
    this.aliveAt = this.context.clock.elapsed();
    if (!this.writer.isBehind) this.context.socket.pong(data);
  }

  /** The other side is still there. */
  pong(): void {
    if (!this.isOpen || this.isTooMany()) return;
    this.aliveAt = this.context.clock.elapsed();
  }

  /** Sound for the person, once they get what else is said. */
  play(sound: Sound): void {
    if (!this.isOpen || !this.feed) return;
    this.activeAt = this.context.clock.elapsed();
    this.writer.play(sound);
  }

  hush(): void {
    this.writer.hush();
  }

  /** The socket is gone, and all that it held. */
  closed(): void {
    this.intake.close();
    this.leave();
  }

  /** Takes no further part in the session. */
  private leave(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    if (this.listens) this.session.microphone('stop', 'server');
    this.writer.close();
    this.cancelBeat?.();
    this.intake.stopWaiting();
    this.context.onEnd(this);
  }

  /** Tells the client why, and closes. */
  end(code: ErrorCode, message: string): void {
    if (!this.isOpen) return;
    // A client that is behind gets the rest when it resumes.
    if (!this.writer.isBehind) this.writer.flush();
    this.writer.send({
      type: 'data-error',
      data: new ProtocolError(code, message).toWire(),
      transient: true,
    });
    const meaning = ERRORS[code];
    this.context.socket.close('close' in meaning ? meaning.close : 1000, message.slice(0, 120));
    this.leave();
  }

  /** Takes a frame, unless the connection has ended while that was parsed. */
  private take(frame: WholeFrame): Promise<unknown> | undefined {
    if (!this.isOpen || (frame.kind !== 'binary' && this.isTooMany())) return;
    const { protocolLimits: limits } = this.context;
    try {
      if (frame.kind === 'binary') {
        this.takeBinary(frame.bytes, limits);
        return;
      }
      const read =
        frame.kind === 'text' ? readFrame(frame.text, limits) : readFrameValue(frame.value, limits);
      return this.request(read);
    } catch (thrown) {
      this.complain(thrown);
      return;
    }
  }

  /** Does what a frame says; what goes wrong is told with the name of the request. */
  private request(frame: ClientFrame): Promise<unknown> | undefined {
    const name = 'requestId' in frame ? frame.requestId : undefined;
    const refuse = (thrown: unknown) => this.complain(thrown, name);
    try {
      return this.act(frame, {
        requestId: name,
        listener: this,
        requester: { accepted: (accepted) => this.tell(acceptedChunk(accepted)), told: refuse },
      })?.catch(refuse);
    } catch (thrown) {
      refuse(thrown);
      return;
    }
  }

  /** Does what a frame says; what takes its time is given back. */
  private act(frame: ClientFrame, asked: Asked): Promise<unknown> | undefined {
    const { session } = this;
    const { identity } = this.context;
    switch (frame.type) {
      case 'ping':
        if (this.writer.isBehind) return;
        this.context.socket.send(JSON.stringify({ type: 'pong', timestamp: frame.timestamp ?? null }));
        return;
      case 'interrupt':
        return session.stop({ ...asked, heard: frame.heard });
      case 'answers': {
        const wait = this.context.allow.answer();
        if (wait > 0) throw rateLimited('Too many answers', wait);
        return session.answer(frame.answers, { ...asked, by: identity });
      }
      case 'message': {
        const wait = this.context.allow.message();
        if (wait > 0) throw rateLimited('Too many messages', wait);
        const { input, trigger, messageId } = frame;
        const again = trigger === 'regenerate-message' || messageId !== undefined;
        return input.kind === 'answers'
          ? session.answer(input.answers, { ...asked, by: identity })
          : session.say(input, { ...asked, again });
      }
      case 'floor':
        session.takeFloor(this);
        return;
      case 'audio_control':
        if (frame.action === 'start') session.takeFloor(this);
        if (frame.action === 'start' || this.listens) session.microphone(frame.action, frame.detection);
        this.listens = frame.action === 'start';
        return;
      case 'audio_chunk':
        this.hear(frame.pcm);
        return;
      case 'video_frame':
        this.see(frame.jpeg);
        return;
      default:
        return exhaustive(frame);
    }
  }

  private takeBinary(bytes: Uint8Array, limits: Limits): void {
    if (this.mediaFrames.take('') > 0) {
      this.drop();
      return;
    }
    try {
      if (!this.writer.isRich)
        throw new ProtocolError('unknown_frame', 'Binary frames need the subprotocol duologue.v1 or v2.');
      const frame = readBinaryFrame(bytes, limits);
      if (frame.type === 'audio') this.hear(Buffer.from(frame.pcm).toString('base64'));
      else this.see(Buffer.from(frame.jpeg).toString('base64'));
    } catch (thrown) {
      // Each refusal is answered: it counts as what asks for an answer does.
      if (!this.isTooMany()) throw thrown;
      return;
    }
  }

  /** Counts a frame. One too many is dropped, and says nothing. */
  private isTooMany(): boolean {
    if (this.frames.take('') === 0) return false;
    this.drop();
    return true;
  }

  private hear(pcm: string): void {
    if (!this.listens) throw new ProtocolError('bad_audio', 'Send audio_control "start" before sound.');
    this.give({ mimeType: 'audio/pcm;rate=16000', data: pcm });
  }

  private see(jpeg: string): void {
    this.give({ mimeType: 'image/jpeg', data: jpeg });
  }

  /** Sound and pictures beyond what a person can give are dropped before they gather anywhere. */
  private give(blob: { mimeType: string; data: string }): void {
    if (this.mediaBytes.take('', blob.data.length) > 0) return this.drop();
    this.session.takeFloor(this);
    this.session.media(blob);
  }

  private complain(thrown: unknown, requestId?: string): void {
    const error = toProtocolError(thrown).about(requestId);
    if (error.code === 'internal') {
      this.context.logger.error('a frame failed', {
        session: this.session.key.id,
        connection: this.id,
        error: String(thrown),
      });
    }
    if (ENDING.has(error.code)) return this.end(error.code, error.message);
    this.tell({ type: 'data-error', data: error.toWire(), transient: true });
  }

  /** Tells this client something. What waits for one that does not read must not grow by what it does. */
  private tell(chunk: Chunk): void {
    if (this.isOpen && !this.writer.isBehind) this.writer.send(chunk);
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

  /** Finds out about peers that are gone without a word, and about those that only sit there. */
  private beat(): void {
    const { clock, limits, socket } = this.context;
    this.cancelBeat = clock.after(limits.heartbeatMs, () => {
      if (!this.isOpen) return;
      if (clock.elapsed() - this.aliveAt >= limits.silenceMs) return this.end('idle', 'No sign of life.');
      const newest = this.feed?.log.last ?? 0;
      if (newest !== this.seqAtBeat) this.activeAt = clock.elapsed();
      this.seqAtBeat = newest;
      if (clock.elapsed() - this.activeAt > limits.idleMs)
        return this.end('idle', 'Nothing happened for a long time.');
      socket.ping();
      this.beat();
    });
  }
}
