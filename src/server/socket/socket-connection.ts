import {
  type Chunk,
  ERRORS,
  type ErrorCode,
  formatChunkId,
  type Limits,
  type Message,
  ProtocolError,
  type ServerFrame,
  type SessionInfo,
  toProtocolError,
  WATCHING_SUBPROTOCOL,
} from '../../protocol/index.ts';
import type { HeldBytes } from '../access/byte-budget.ts';
import type { Identity } from '../access/sign-in.ts';
import type { Clock } from '../clock.ts';
import type { Listener, Place, Session } from '../home/home.ts';
import type { Pacing } from '../http/response-reader.ts';
import type { LargeJson } from '../large-json.ts';
import type { Logger } from '../logger.ts';
import type { Sound } from '../output/utterances.ts';
import { FrameMeter } from './frame-meter.ts';
import { Intake, type WholeFrame } from './intake.ts';
import type { Socket, SocketLimits } from './socket.ts';
import { SocketLife } from './socket-life.ts';
import { SocketMedia } from './socket-media.ts';
import { SocketRequests } from './socket-requests.ts';
import { SocketWriter } from './socket-writer.ts';

/** What a connection is made of. */
export interface SocketConnectionContext {
  id: string;
  socket: Socket;
  session: Session;
  /** Whose connection it is. */
  identity: Identity;
  /** Which nodes are at work, for development, where that is told. */
  nodes?: Pick<SessionInfo, 'nodes'>;
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
  /** Asks the application whether the user has signed out, and closes the connection then; null when it cannot be asked. */
  isSignedOut: (() => Promise<boolean>) | null;
  /** Files of messages by their whole address. */
  present: (messages: Message[]) => Message[];
  onEnd: (connection: SocketConnection) => void;
}

/** What is wrong with a frame so that nothing behind it can be read. */
const ENDING: ReadonlySet<ErrorCode> = new Set(['invalid_frame', 'idle', 'overloaded']);

/** One socket of one session: frames in, chunks and sound out. It decides nothing about the conversation. */
export class SocketConnection implements Listener {
  readonly id: string;
  readonly watches: Listener['watches'];
  private readonly context: SocketConnectionContext;
  private readonly session: Session;
  private readonly intake: Intake;
  private readonly meter: FrameMeter;
  private readonly media: SocketMedia;
  private readonly requests: SocketRequests;
  private readonly writer: SocketWriter;
  private readonly life: SocketLife;
  private isOpen = true;
  /** Whether it gets what is said. */
  private isFollowing = false;

  constructor(context: SocketConnectionContext) {
    const { socket, session, clock, limits, pacing } = context;
    this.id = context.id;
    this.watches = socket.protocol === WATCHING_SUBPROTOCOL ? 'when-another-speaks' : 'never';
    this.context = context;
    this.session = session;
    this.intake = new Intake({
      held: context.held,
      arrivalMs: context.arrivalMs,
      clock,
      large: context.large,
      take: (frame) => this.take(frame),
      refuse: (error) => this.complain(error),
    });
    this.meter = new FrameMeter({
      limits,
      clock,
      refuse: (error) => this.complain(error),
      onFlood: () => this.end('flooded', 'Too many frames.'),
    });
    this.media = new SocketMedia(this, session, this.meter);
    this.requests = new SocketRequests({
      listener: this,
      session,
      identity: context.identity,
      media: this.media,
      limits: context.protocolLimits,
      allow: context.allow,
      isSignedOut: context.isSignedOut,
      tell: (chunk) => this.tell(chunk),
      complain: (thrown, requestId) => this.complain(thrown, requestId),
      pong: (timestamp) => {
        if (!this.writer.isBehind) {
          socket.send(JSON.stringify({ type: 'pong', timestamp } satisfies ServerFrame));
        }
      },
    });
    this.writer = new SocketWriter({
      socket,
      window: pacing.window,
      limits,
      present: context.present,
      onTooSlow: () => this.end('too_slow', 'The connection reads too slowly. It can come back and resume.'),
    });
    this.life = new SocketLife({
      clock,
      limits,
      ping: () => socket.ping(),
      onEnd: (why) => this.end('idle', why),
    });
  }

  /** Greets, sends what was missed, and goes live. */
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
        data: { sessionId, connectionId: this.id, epoch, resumed, newest, ...info, ...context.nodes },
        transient: true,
      },
      formatChunkId({ epoch, seq: from }),
    );
    if (reset) {
      const data = { ...reset, messages: context.present(reset.messages) };
      writer.send({ type: 'data-reset', data, transient: true });
    }
    for (const chunk of opening) writer.send(chunk);
    this.isFollowing = true;
    writer.follow(feed.log, from, omitted);
    this.life.begin(feed.log);
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
    this.life.noteFrame();
    this.intake.receive(data, isBinary);
  }

  /** The other side asks whether this one is still there. */
  ping(data: Uint8Array): void {
    if (!this.isOpen || !this.meter.allows()) return;
    this.life.noteAlive();
    if (!this.writer.isBehind) this.context.socket.pong(data);
  }

  /** The other side is still there. */
  pong(): void {
    if (this.isOpen && this.meter.allows()) this.life.noteAlive();
  }

  /** Sound for the person, once they get what else is said. */
  play(sound: Sound): void {
    if (!this.isOpen || !this.isFollowing) return;
    this.life.noteActivity();
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
    this.media.close();
    this.writer.close();
    this.life.end();
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
    if (!this.isOpen) return;
    if (frame.kind !== 'binary') return this.meter.allows() ? this.requests.take(frame) : undefined;
    try {
      this.media.take(frame.bytes, this.writer.isRich, this.context.protocolLimits);
    } catch (thrown) {
      this.complain(thrown);
    }
    return;
  }

  told(error: ProtocolError): void {
    this.complain(error);
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
}
