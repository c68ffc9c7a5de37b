import type { ToolRequest } from '../../adk/for-server.ts';
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
import type { HeldBytes } from '../access/limits.ts';
import type { Identity } from '../access/sign-in.ts';
import type { Clock } from '../clock.ts';
import type { Pacing } from '../http/reply.ts';
import type { LargeJson } from '../large-json.ts';
import type { Logger } from '../logger.ts';
import type { Sound } from '../output/utterances.ts';
import type { Listener, Place, Session } from '../registry/session.ts';
import { FrameMeter, Intake, SocketMedia, SocketRequests, type WholeFrame } from './incoming.ts';
import type { Socket, SocketLimits } from './socket.ts';
import { SocketWriter } from './socket-writer.ts';

/** The objects and callbacks that a connection uses. */
export interface SocketConnectionContext {
  id: string;
  socket: Socket;
  session: Session;
  /** The user of the connection. */
  identity: Identity;
  /** The nodes that serve the connection, for `data-session`; empty without the server option `inspect`. */
  nodes?: Pick<SessionInfo, 'nodes'>;
  /** The chunks and sound that the client says it already has. */
  place: Place;
  clock: Clock;
  pacing: Pacing;
  logger: Logger;
  limits: SocketLimits;
  /** The largest frame and message that the server accepts. */
  protocolLimits: Limits;
  large: LargeJson;
  /** Counts the bytes of frames until they are handled. */
  held: HeldBytes;
  /** How long a frame may take to arrive. */
  arrivalMs: number;
  /** Counts a request against the rate limit of the user; returns the milliseconds to wait, 0 when the request is allowed. */
  allow: { message: () => number; answer: () => number };
  /** Asks the application whether the user has signed out; null without the option `stillSignedIn`. When the user has, the connection is closed. */
  isSignedOut: (() => Promise<boolean>) | null;
  /** Returns what tools see as `context.request` for a frame with these fields; undefined without the option `toolRequest`. */
  forTools: ((fields: Readonly<Record<string, unknown>>) => ToolRequest) | undefined;
  /** Returns the messages with an absolute URL for each stored file. */
  present: (messages: Message[]) => Message[];
  onEnd: (connection: SocketConnection) => void;
}

/** Errors about an incoming frame that end the connection: the frame is malformed, took too long to arrive, or does not fit into memory. */
const ENDING: ReadonlySet<ErrorCode> = new Set(['invalid_frame', 'idle', 'overloaded']);

/** One socket of one session: it receives frames, and sends chunks and sound. It decides nothing about the conversation. */
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
  /** Whether the connection has joined the session and receives its chunks. */
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
      onFlood: () => this.end('flooded', 'The client sends too many frames, so the connection was closed.'),
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
      forTools: context.forTools,
      reply: (chunk) => this.reply(chunk),
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
      onTooSlow: () =>
        this.end(
          'too_slow',
          'The client reads too slowly, so the connection was closed. Reconnect to resume.',
        ),
    });
    this.life = new SocketLife({
      clock,
      limits,
      ping: () => socket.ping(),
      onEnd: (why) => this.end('idle', IDLE_TEXTS[why]),
    });
  }

  /** Joins the session: sends `data-session` and the chunks that the client missed, and then all new chunks. */
  async open(): Promise<void> {
    const { session, context, writer } = this;
    const joined = await session.join(this, context.place);
    if (!this.isOpen) return;
    const { feed, from, resumed, newest, reset, opening, omitted, sounds, info } = joined;
    const { epoch } = feed.log;
    const sessionId = session.key.id;
    // `data-session` has the id of the chunk before the first one that the client will get, so that a client that loses the connection before that chunk can
    // resume too.
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

  /** Counts a piece of `piece` bytes that came off the network. The adapter first calls `receive` for each frame that ended in the piece. */
  arrived(piece: number): void {
    if (this.isOpen) this.intake.arrived(piece);
  }

  /** Handles a frame from the client. Never throws. */
  receive(data: Uint8Array, isBinary: boolean): void {
    if (!this.isOpen) return;
    this.life.noteFrame();
    this.intake.receive(data, isBinary);
  }

  /** Answers a ping. */
  ping(data: Uint8Array): void {
    if (!this.isOpen || !this.meter.allows()) return;
    this.life.noteAlive();
    if (!this.writer.isBehind) this.context.socket.pong(data);
  }

  pong(): void {
    if (this.isOpen && this.meter.allows()) this.life.noteAlive();
  }

  /** Sends sound. Until the client receives the chunks of the session, drops the sound. */
  play(sound: Sound): void {
    if (!this.isOpen || !this.isFollowing) return;
    this.life.noteActivity();
    this.writer.play(sound);
  }

  stopPlayback(): void {
    this.writer.stopPlayback();
  }

  /** Handles the end of the socket: releases everything that the connection uses. */
  closed(): void {
    this.intake.close();
    this.leave();
  }

  /** Leaves the session. */
  private leave(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.media.close();
    this.writer.close();
    this.life.end();
    this.intake.stopWaiting();
    this.context.onEnd(this);
  }

  /** Sends the reason, and closes the socket. */
  end(code: ErrorCode, message: string): void {
    if (!this.isOpen) return;
    // The chunks for a client that reads too slowly stay in the log, and the client gets them when it resumes.
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

  /** Handles a frame, unless the connection ended while the frame was parsed. */
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

  failed(error: ProtocolError): void {
    this.complain(error);
  }

  private complain(thrown: unknown, requestId?: string): void {
    const error = toProtocolError(thrown).about(requestId);
    if (error.code === 'internal' && !(thrown instanceof ProtocolError)) {
      this.context.logger.error(
        'a frame could not be handled because of a fault of the server: the client got the code "internal"',
        {
          session: this.session.key.id,
          connection: this.id,
          error: String(thrown),
        },
      );
    }
    if (ENDING.has(error.code)) return this.end(error.code, error.message);
    this.reply({ type: 'data-error', data: error.toWire(), transient: true });
  }

  /** Sends a chunk to this client alone. A client that does not read must not grow its own send queue by sending requests. */
  private reply(chunk: Chunk): void {
    if (this.isOpen && !this.writer.isBehind) this.writer.send(chunk);
  }
}

/** The texts for a client whose connection ends: it sent nothing for `silenceMs` (`silent`), or there was no activity for `idleMs` (`unused`). */
export const IDLE_TEXTS = {
  silent: 'The client sent nothing, not even a pong, so the connection was closed.',
  unused: 'Nothing happened on this connection for a long time, so it was closed.',
};

/** The objects and callbacks that the heartbeat of a socket uses. */
export interface SocketLifeContext {
  clock: Clock;
  limits: SocketLimits;
  ping: () => void;
  /** Called when the client has sent nothing for `silenceMs`, or when there was no activity for `idleMs`. */
  onEnd: (why: keyof typeof IDLE_TEXTS) => void;
}

/** The heartbeat of one socket. It detects clients that disappeared without closing the socket, and connections that are idle for too long. */
export class SocketLife {
  private readonly context: SocketLifeContext;
  private aliveAt: number;
  private activeAt: number;
  /**
   * Whether the client has sent something since the last beat. Only the next beat reads the clock: a read for each 20 ms of sound would be a measurable part
   * of the server's CPU time.
   */
  private isAlive = false;
  /** Whether there was activity since the last beat. */
  private isActive = false;
  /** The seq of the newest log entry at the last beat. */
  private seqAtBeat = 0;
  private cancel: (() => void) | null = null;

  constructor(context: SocketLifeContext) {
    this.context = context;
    this.activeAt = context.clock.elapsed();
    this.aliveAt = this.activeAt;
  }

  /** Records that the client is alive, for example because it sent a pong. */
  noteAlive(): void {
    this.isAlive = true;
  }

  /** Records a frame: the client is alive and active. */
  noteFrame(): void {
    this.isAlive = true;
    this.isActive = true;
  }

  /** Records activity in the session, such as a sound. */
  noteActivity(): void {
    this.isActive = true;
  }

  /** Starts the heartbeat. New entries in `log` between two beats count as activity. */
  begin(log: { readonly last: number }): void {
    this.seqAtBeat = log.last;
    this.beat(log);
  }

  end(): void {
    this.cancel?.();
  }

  private beat(log: { readonly last: number }): void {
    const { clock, limits, ping, onEnd } = this.context;
    this.cancel = clock.after(limits.heartbeatMs, () => {
      const now = clock.elapsed();
      if (this.isAlive) this.aliveAt = now;
      if (this.isActive || log.last !== this.seqAtBeat) this.activeAt = now;
      this.isAlive = false;
      this.isActive = false;
      this.seqAtBeat = log.last;
      if (now - this.aliveAt >= limits.silenceMs) return onEnd('silent');
      if (now - this.activeAt > limits.idleMs) return onEnd('unused');
      ping();
      this.beat(log);
    });
  }
}
