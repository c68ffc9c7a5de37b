import type { ToolRequest } from '../../adk/for-server.ts';
import type { Chunk } from '../../protocol/chunks.ts';
import { ProtocolError } from '../../protocol/errors.ts';
import { exhaustive } from '../../protocol/exhaustive.ts';
import {
  type ClientFrame,
  type Detection,
  notJson,
  readBinaryFrame,
  readFrameValue,
} from '../../protocol/frames.ts';
import type { Limits } from '../../protocol/limits.ts';
import { type HeldBytes, rateLimited, TokenBucket } from '../access/limits.ts';
import type { Identity } from '../access/sign-in.ts';
import { acceptedChunk } from '../clients/requests.ts';
import type { Clock } from '../clock.ts';
import { LARGE_JSON, type LargeJson } from '../large-json.ts';
import type { Listener, RequestContext, Session } from '../registry/session.ts';
import { frameFields } from '../tool-request.ts';
import { parseText, type SocketLimits, toBase64 } from './socket.ts';

/** A whole frame. A large one is already parsed. */
export type WholeFrame =
  | { kind: 'binary'; bytes: Uint8Array }
  | { kind: 'text'; text: string }
  | { kind: 'parsed'; value: unknown };

/** The limits and callbacks of an `Intake`. */
export interface IntakeContext {
  /** Counts the bytes of frames until they are handled. */
  held: HeldBytes;
  /** How long a frame may take to arrive. */
  arrivalMs: number;
  clock: Clock;
  large: LargeJson;
  /** Handles a frame; returns a promise when that takes time. Never throws or rejects. */
  take: (frame: WholeFrame) => Promise<unknown> | undefined;
  /** Refuses a frame that cannot be read, does not fit into memory, or took too long to arrive. */
  refuse: (error: ProtocolError) => void;
}

/** While a binary frame is handled, its bytes count against the byte budget of the user only if it has more than this. */
const SMALL = 64 * 1024;
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Receives the frames of one socket, and starts to handle them in the order of arrival. It counts the bytes of a frame while the frame arrives and is handled,
 * except those of small frames (`SMALL`, `WORTH_COUNTING`).
 */
export class Intake {
  private readonly context: IntakeContext;
  private readonly unfinished = new UnfinishedFrame();
  private unfinishedBytes = 0;
  /** Bytes of frames that are being handled. */
  private takenBytes = 0;
  private cancelArrival: (() => void) | null = null;
  /** Settles when every frame so far is parsed and its handling has started; later frames wait for that. Null while no large frame is being parsed. */
  private parsing: Promise<void> | null = null;

  constructor(context: IntakeContext) {
    this.context = context;
  }

  /** Counts a piece of `piece` bytes that came off the network. The caller first calls `receive` for each frame that ended in the piece. */
  arrived(piece: number): void {
    const { bytes, isNew } = this.unfinished.push(piece);
    if (isNew) this.stopWaiting();
    if (bytes === this.unfinishedBytes) return;
    this.unfinishedBytes = bytes;
    if (!this.hold() || bytes === 0) return;
    const { clock, arrivalMs, refuse } = this.context;
    const seconds = arrivalMs / 1000;
    this.cancelArrival ??= clock.after(arrivalMs, () =>
      refuse(new ProtocolError('idle', `A frame took over ${seconds} s to arrive. Send it again.`)),
    );
  }

  /** Handles a whole frame. */
  receive(data: Uint8Array, isBinary: boolean): void {
    const { byteLength } = data;
    this.unfinished.end(byteLength);
    // The caller calls `arrived` afterwards, which counts the bytes after this frame.
    const wasCounted = this.unfinishedBytes > 0;
    this.unfinishedBytes = 0;
    if (isBinary && byteLength <= SMALL && !this.parsing) {
      // A small binary frame, such as 20 ms of sound, is handled synchronously. Its bytes are not counted, because counting would be a large part of the cost
      // of handling it.
      if (wasCounted) this.hold();
      this.context.take({ kind: 'binary', bytes: data });
      return;
    }
    this.takenBytes += byteLength;
    const work = this.hold() ? this.take(data, isBinary) : undefined;
    const release = () => {
      this.takenBytes -= byteLength;
      this.hold();
    };
    // Errors are ignored here: the handler of the frame reports them.
    if (work) work.then(release, release).catch(() => undefined);
    else release();
  }

  /** Cancels the time limit of the unfinished frame. */
  stopWaiting(): void {
    this.cancelArrival?.();
    this.cancelArrival = null;
  }

  /** Call it when the socket is closed. It stops counting the bytes of the unfinished frame. */
  close(): void {
    this.stopWaiting();
    this.unfinishedBytes = 0;
    this.hold();
  }

  private take(data: Uint8Array, isBinary: boolean): Promise<unknown> | undefined {
    const { take, refuse } = this.context;
    const isLarge = !isBinary && data.byteLength > LARGE_JSON;
    if (!isLarge && !this.parsing) return take(wholeFrame(data, isBinary));
    const taken = (this.parsing ?? Promise.resolve()).then(async () => {
      const frame = isLarge ? await this.parse(data) : wholeFrame(data, isBinary);
      // `work` is wrapped in an object, so that this promise does not wait for it: the next frame is handled as soon as the handling of this
      // frame has started, not when it is done.
      return { work: take(frame) };
    });
    const parsing: Promise<void> = taken
      .then(
        () => undefined,
        (error: ProtocolError) => refuse(error),
      )
      .then(() => {
        if (this.parsing === parsing) this.parsing = null;
      });
    this.parsing = parsing;
    return taken.then(
      ({ work }) => work,
      () => undefined,
    );
  }

  private async parse(data: Uint8Array): Promise<WholeFrame> {
    try {
      return { kind: 'parsed', value: await this.context.large.parse(data) };
    } catch (error) {
      throw error instanceof ProtocolError ? error : notJson();
    }
  }

  /** Reports the held bytes to the budget. When they exceed it, refuses the frame and returns false. */
  private hold(): boolean {
    try {
      this.context.held.set(this.unfinishedBytes + this.takenBytes);
      return true;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.context.refuse(error);
      return false;
    }
  }
}

function wholeFrame(data: Uint8Array, isBinary: boolean): WholeFrame {
  return isBinary ? { kind: 'binary', bytes: data } : { kind: 'text', text: UTF8.decode(data) };
}

/** The bytes of an unfinished frame are not counted below this number, because they are a header or the beginning of a small frame. */
const WORTH_COUNTING = 4096;

/** Counts the bytes of an unfinished frame. For each piece from the network the caller calls `end` for each frame that ended in it, and then `push`. */
class UnfinishedFrame {
  private bytes = 0;
  private ended = 0;
  private hasEnded = false;

  /** Records that a frame of this size ended. */
  end(bytes: number): void {
    this.ended += bytes;
    this.hasEnded = true;
  }

  /** Records a piece of `bytes` bytes. Returns how many bytes of the now unfinished frame have arrived (0 below `WORTH_COUNTING`), and whether a frame ended in this piece. */
  push(bytes: number): { bytes: number; isNew: boolean } {
    const isNew = this.hasEnded;
    this.bytes += bytes;
    // `ended` does not include the headers of the frames, so the difference may be a few bytes too large. The unfinished frame began in this piece, so it
    // cannot have more bytes than the piece.
    if (isNew) this.bytes = Math.max(0, Math.min(this.bytes - this.ended, bytes));
    this.ended = 0;
    this.hasEnded = false;
    return { bytes: this.bytes < WORTH_COUNTING ? 0 : this.bytes, isNew };
  }
}

/** The server closes a connection after this many dropped frames. */
const MAX_DROPPED = 2000;
/** The server reports one in this many dropped frames to the client. */
const ANSWERED = 100;
/** A client may send the frames of this many seconds at once. */
const FRAME_BURST = 2;
/** A client may send the sound and pictures of this many seconds at once. */
const MEDIA_BURST = 8;

/** The limits and callbacks of a `FrameMeter`. */
export interface FrameMeterContext {
  limits: SocketLimits;
  clock: Clock;
  /** Sends the client the error that frames were dropped. */
  refuse: (error: ProtocolError) => void;
  /** Ends the connection, because too many frames were dropped. */
  onFlood: () => void;
}

/**
 * Limits the frames of one client. Frames over the limit are dropped: `refuse` is called for one in `ANSWERED` of them, and `onFlood` for each after the
 * first `MAX_DROPPED`.
 */
export class FrameMeter {
  private readonly context: FrameMeterContext;
  private readonly frames: TokenBucket;
  private readonly mediaFrames: TokenBucket;
  private readonly mediaBytes: TokenBucket;
  private dropped = 0;

  constructor(context: FrameMeterContext) {
    this.context = context;
    const { limits, clock } = context;
    const now = clock.elapsed();
    const bucket = (perSecond: number, seconds: number) =>
      new TokenBucket(perSecond * seconds, perSecond / 1000, now);
    this.frames = bucket(limits.framesPerSecond, FRAME_BURST);
    this.mediaFrames = bucket(limits.mediaFramesPerSecond, MEDIA_BURST);
    this.mediaBytes = bucket(limits.mediaBytesPerSecond, MEDIA_BURST);
  }

  /** Counts a text frame, a ping, a pong or a refused binary frame. Returns false when it is over the limit and must be dropped. */
  allows(): boolean {
    return this.count(this.frames.take(1, this.context.clock.elapsed()) === 0);
  }

  /** Counts a binary frame and its bytes; false when it must be dropped. It reads the clock only once, because a speaking client sends fifty frames a second. */
  allowsMedia(bytes: number): boolean {
    const now = this.context.clock.elapsed();
    return this.count(this.mediaFrames.take(1, now) === 0 && this.mediaBytes.take(bytes, now) === 0);
  }

  /** Counts the bytes of sound or of a picture in a text frame; false when they must be dropped. */
  allowsMediaBytes(bytes: number): boolean {
    return this.count(this.mediaBytes.take(bytes, this.context.clock.elapsed()) === 0);
  }

  private count(isAllowed: boolean): boolean {
    if (!isAllowed) this.drop();
    return isAllowed;
  }

  private drop(): void {
    this.dropped++;
    if (this.dropped > MAX_DROPPED) return this.context.onFlood();
    if (this.dropped % ANSWERED !== 1) return;
    const text = 'Too many frames: some were dropped. Send fewer frames per second.';
    const error = new ProtocolError('rate_limited', text, { retryAfterMs: 1000 });
    this.context.refuse(error);
  }
}

/** The objects and callbacks that the requests of a socket use. */
export interface SocketRequestsContext {
  listener: Listener;
  session: Session;
  identity: Identity;
  media: SocketMedia;
  /** The largest frame and message that the server accepts. */
  limits: Limits;
  /** Asks the application whether the user has signed out; null without the option `stillSignedIn`. When the user has, the connection is closed. */
  isSignedOut: (() => Promise<boolean>) | null;
  /** Counts a request against the rate limit of the user; returns the milliseconds to wait, 0 when the request is allowed. */
  allow: { message: () => number; answer: () => number };
  /** Sends a chunk to this client alone. */
  reply: (chunk: Chunk) => void;
  /** Reports an error about a frame to the client, with the `requestId` of its request. */
  complain: (thrown: unknown, requestId?: string) => void;
  /** Returns what tools see as `context.request` for a frame with these fields; undefined without the option `toolRequest`. */
  forTools: ((fields: Readonly<Record<string, unknown>>) => ToolRequest) | undefined;
  /** Answers a `ping` frame. */
  pong: (timestamp: string | number | null) => void;
}

/** Performs the requests in the text frames of one socket: parses each, and calls the session. */
export class SocketRequests {
  private readonly context: SocketRequestsContext;
  /** Settles when a claim has been checked (`claim`); null when no check is running. */
  private claiming: Promise<void> | null = null;

  constructor(context: SocketRequestsContext) {
    this.context = context;
  }

  /** Handles a frame; returns a promise when that takes time. Never throws or rejects. */
  take(frame: Exclude<WholeFrame, { kind: 'binary' }>): Promise<unknown> | undefined {
    const { limits, complain } = this.context;
    try {
      const value = frame.kind === 'text' ? parseText(frame.text) : frame.value;
      return this.request(readFrameValue(value, limits), value);
    } catch (thrown) {
      complain(thrown);
      return;
    }
  }

  /** Carries out a request. Reports an error with the `requestId` of the request. */
  private request(frame: ClientFrame, value: unknown): Promise<unknown> | undefined {
    const { listener, reply, complain, forTools } = this.context;
    const name = 'requestId' in frame ? frame.requestId : undefined;
    const refuse = (thrown: unknown) => complain(thrown, name);
    try {
      return this.act(frame, {
        requestId: name,
        listener,
        requester: { accepted: (accepted) => reply(acceptedChunk(accepted)), failed: refuse },
        forTools: forTools?.(frameFields(value)),
      })?.catch(refuse);
    } catch (thrown) {
      refuse(thrown);
      return;
    }
  }

  /**
   * Makes this connection the active one, unless the application says that the user has signed out. Further claims during that check wait for its result.
   */
  private claim(): Promise<void> | undefined {
    const { session, listener, isSignedOut } = this.context;
    if (!isSignedOut) {
      session.claim(listener);
      return;
    }
    this.claiming ??= isSignedOut().then((isOut) => {
      this.claiming = null;
      if (!isOut) session.claim(listener);
    });
    return this.claiming;
  }

  private act(frame: ClientFrame, asked: RequestContext): Promise<unknown> | undefined {
    const { session, identity, media, allow, isSignedOut } = this.context;
    switch (frame.type) {
      case 'ping':
        this.context.pong(frame.timestamp ?? null);
        return;
      case 'interrupt':
        return session.stop({ heard: frame.heard, ...asked });
      case 'answers': {
        const wait = allow.answer();
        if (wait > 0) throw rateLimited('Too many answers', wait);
        return session.answer(frame.answers, { by: identity, ...asked });
      }
      case 'message': {
        const wait = allow.message();
        if (wait > 0) throw rateLimited('Too many messages', wait);
        const { input, trigger, messageId } = frame;
        const again = trigger === 'regenerate-message' || messageId !== undefined;
        if (input.kind === 'continuation') return session.continueMessage(input.messageId, asked);
        return input.kind === 'answers'
          ? session.answer(input.answers, { by: identity, ...asked })
          : session.say(input, { again, ...asked });
      }
      case 'floor':
        return this.claim();
      case 'audio_control':
        media.microphone(frame.action, frame.detection);
        // Sound may follow at once, so the microphone is on before the application has said whether the user is signed in. If the user has signed out,
        // `isSignedOut` closes the connection.
        return frame.action === 'start' ? isSignedOut?.() : undefined;
      case 'audio_chunk':
        media.hear(frame.pcm);
        return;
      case 'video_frame':
        media.see(frame.jpeg);
        return;
      default:
        return exhaustive(frame);
    }
  }
}

/** Passes the sound and pictures that arrive over one socket to the session. */
export class SocketMedia {
  private readonly listener: Listener;
  private readonly session: Session;
  private readonly meter: FrameMeter;
  /** Whether the microphone is on; null until the first `audio_control` or the first sound. */
  private listens: boolean | null = null;

  constructor(listener: Listener, session: Session, meter: FrameMeter) {
    this.listener = listener;
    this.session = session;
    this.meter = meter;
  }

  /** Turns the microphone on or off. */
  microphone(action: 'start' | 'stop', detection: Detection): void {
    if (action === 'start') this.session.claim(this.listener);
    if (action === 'start' || this.listens) this.session.microphone(action, detection, this.listener);
    this.listens = action === 'start';
  }

  /** Turns the microphone off, because the connection ends. */
  close(): void {
    if (this.listens) this.microphone('stop', 'server');
  }

  /** Handles a binary frame. Drops it when it is over the limits, and throws when it is refused. */
  take(bytes: Uint8Array, isRich: boolean, limits: Limits): void {
    // The limit is checked before the frame is parsed, so that a frame over the limit costs little.
    if (!this.meter.allowsMedia(bytes.byteLength)) return;
    try {
      if (!isRich)
        throw new ProtocolError('unknown_frame', 'Binary frames need subprotocol duologue.v1 or .v2.');
      const frame = readBinaryFrame(bytes, limits);
      if (frame.type === 'audio') this.giveSound(toBase64(frame.pcm));
      else this.give('image/jpeg', toBase64(frame.jpeg));
    } catch (thrown) {
      // The client gets an error for each refused frame, so refused frames are limited like text frames.
      if (this.meter.allows()) throw thrown;
    }
  }

  /** Handles sound that came as text, in base64. */
  hear(pcm: string): void {
    if (this.meter.allowsMediaBytes(pcm.length)) this.giveSound(pcm);
  }

  /** Handles a picture of the camera that came as text, in base64. */
  see(jpeg: string): void {
    if (this.meter.allowsMediaBytes(jpeg.length)) this.give('image/jpeg', jpeg);
  }

  private giveSound(data: string): void {
    // For a client that sends no `audio_control` at all, the first sound turns the microphone on. Sound after a "stop" is refused.
    if (this.listens === null) this.microphone('start', 'server');
    if (!this.listens) throw new ProtocolError('bad_audio', 'Send audio_control "start" before sound.');
    this.give('audio/pcm;rate=16000', data);
  }

  private give(mimeType: string, data: string): void {
    this.session.claim(this.listener);
    this.session.media({ mimeType, data }, this.listener);
  }
}
