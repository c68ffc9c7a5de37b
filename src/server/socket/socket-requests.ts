import { exhaustive } from '../../protocol/exhaustive.ts';
import {
  type Chunk,
  type ClientFrame,
  type Detection,
  type Limits,
  ProtocolError,
  readBinaryFrame,
  readFrame,
  readFrameValue,
} from '../../protocol/index.ts';
import { rateLimited } from '../access/limits.ts';
import type { Identity } from '../access/sign-in.ts';
import { acceptedChunk } from '../conversation/aside.ts';
import type { Asked, Listener, Session } from '../registry/session.ts';
import type { FrameMeter, WholeFrame } from './intake.ts';
import { toBase64 } from './socket.ts';

/** What requests over a socket need from around them. */
export interface SocketRequestsContext {
  listener: Listener;
  session: Session;
  identity: Identity;
  media: SocketMedia;
  /** How much is taken in one frame. */
  limits: Limits;
  /** Asks the application whether the user has signed out; null when it cannot be asked. */
  isSignedOut: (() => Promise<boolean>) | null;
  /** Takes one from what is allowed to the user: milliseconds to wait, 0 for none. */
  allow: { message: () => number; answer: () => number };
  /** Tells this client something. */
  tell: (chunk: Chunk) => void;
  /** Something is wrong with a frame, or with the request of that name. */
  complain: (thrown: unknown, requestId?: string) => void;
  /** Answers a question whether the server is still there. */
  pong: (timestamp: string | number | null) => void;
}

/** What a client asks for in the text frames of its socket: each is read, and the session is asked for it. */
export class SocketRequests {
  private readonly context: SocketRequestsContext;
  /** The claim for which the application is being asked. */
  private claiming: Promise<void> | null = null;

  constructor(context: SocketRequestsContext) {
    this.context = context;
  }

  /** Takes a frame; returns a promise when that takes its time. Never throws or rejects. */
  take(frame: Exclude<WholeFrame, { kind: 'binary' }>): Promise<unknown> | undefined {
    const { limits, complain } = this.context;
    try {
      const read =
        frame.kind === 'text' ? readFrame(frame.text, limits) : readFrameValue(frame.value, limits);
      return this.request(read);
    } catch (thrown) {
      complain(thrown);
      return;
    }
  }

  /** Does what a frame says; what goes wrong is told with the name of the request. */
  private request(frame: ClientFrame): Promise<unknown> | undefined {
    const { listener, tell, complain } = this.context;
    const name = 'requestId' in frame ? frame.requestId : undefined;
    const refuse = (thrown: unknown) => complain(thrown, name);
    try {
      return this.act(frame, {
        requestId: name,
        listener,
        requester: { accepted: (accepted) => tell(acceptedChunk(accepted)), told: refuse },
      })?.catch(refuse);
    } catch (thrown) {
      refuse(thrown);
      return;
    }
  }

  /**
   * Claims the active connection, once it is known that the user has not signed out: their connection is closed then. Claims that come while the application
   * is asked are the same claim.
   */
  private claim(): Promise<void> | undefined {
    const { session, listener, isSignedOut } = this.context;
    if (!isSignedOut) {
      session.takeFloor(listener);
      return;
    }
    this.claiming ??= isSignedOut().then((isOut) => {
      this.claiming = null;
      if (!isOut) session.takeFloor(listener);
    });
    return this.claiming;
  }

  private act(frame: ClientFrame, asked: Asked): Promise<unknown> | undefined {
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
        // Sound may follow at once, so the application is asked beside it: a signed-out user's connection is closed.
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
