import { exhaustive } from '../../protocol/exhaustive.ts';
import {
  type Chunk,
  type ClientFrame,
  type Limits,
  readFrame,
  readFrameValue,
} from '../../protocol/index.ts';
import { rateLimited } from '../access/rate-limit.ts';
import type { Identity } from '../access/sign-in.ts';
import { acceptedChunk } from '../conversation/aside.ts';
import type { Asked, Listener, Session } from '../registry/session.ts';
import type { WholeFrame } from './intake.ts';
import type { SocketMedia } from './socket-media.ts';

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
