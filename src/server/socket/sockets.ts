import type { Duplex } from 'node:stream';
import { type SessionInfo, toProtocolError } from '../../protocol/index.ts';
import { type RateLimiter, rateLimited } from '../access/limits.ts';
import { type Identity, NO_LONGER_SIGNED_IN } from '../access/sign-in.ts';
import { withAddresses } from '../files.ts';
import { answerFramed, type FramedRequest, framedRequest, requestIdOf } from '../http/http.ts';
import { type HttpContext, nodesOf } from '../http/route.ts';
import { NotHere, ShuttingDown } from '../nodes/elsewhere.ts';
import { FORWARDED } from '../nodes/forward.ts';
import { parseSoundPlace } from '../output/utterances.ts';
import type { Session } from '../registry/session.ts';
import { checkSessionId, newSessionId } from '../registry/session-registry.ts';
import { toolRequestOf } from '../tool-request.ts';
import { ChatConnection } from './chat-connection.ts';
import { ConnectionCounts } from './connection-counts.ts';
import { type AcceptedSocket, DEFAULT_SOCKET_LIMITS, type Socket, type SocketLimits } from './socket.ts';
import { SocketConnection } from './socket-connection.ts';

/** A connection that was admitted and waits for its socket. */
export interface Admission {
  accept(socket: Socket): AcceptedSocket;
  /** Removes the connection from the count of its user. Call it when the socket did not open or is closed. */
  drop(): void;
}

/** The TCP stream of a WebSocket request that is not answered yet. `head` has the bytes after the request that were already read. */
export interface WaitingStream {
  stream: Duplex;
  head: Buffer;
}

/** Resolves with the result of `here`, which loads the session in this process; null when another node owns it and got the request. */
type FindSession = (here: () => Promise<Session>) => Promise<Session | null>;

/** A connection that was admitted and whose socket is not open yet. */
interface Admitted {
  id: string;
  identity: Identity;
  session: Session;
  url: URL;
  /** The headers of the handshake. */
  headers: Headers;
  /** Removes the connection from the count of its user. */
  countOut: () => void;
  nodes: Pick<SessionInfo, 'nodes'>;
}

/** Admits the sockets of a server, and owns the open ones. */
export class Sockets {
  private readonly context: HttpContext;
  private readonly limits: SocketLimits;
  private readonly open = new Set<SocketConnection | ChatConnection>();
  private readonly answers: RateLimiter;
  private readonly counts: ConnectionCounts;

  constructor(context: HttpContext, limits: Partial<SocketLimits> = {}) {
    this.context = context;
    this.limits = { ...DEFAULT_SOCKET_LIMITS, ...limits };
    const { answersPerMinute: perMinute, connectionsPerUser } = this.limits;
    this.counts = new ConnectionCounts(connectionsPerUser, context.connections);
    this.answers = context.newLimiter('answers', { burst: perMinute, perMinute });
  }

  /** Whether a request is for a WebSocket of this server. */
  matches(request: Request): boolean {
    return this.isChat(request) || new URL(request.url).pathname === `${this.context.basePath}/live`;
  }

  /** Whether a request is for a socket of the AI SDK's own transport. */
  private isChat(request: Request): boolean {
    const { basePath, chatSocket } = this.context;
    return chatSocket !== null && new URL(request.url).pathname === basePath + chatSocket.path;
  }

  /** Whether a request may have to be forwarded to another node. Then an adapter must call `admitOrHandOn` instead of `admit`. */
  get mayHandOn(): boolean {
    return this.context.node !== null;
  }

  /** Checks the request before a socket is opened. Rejects when the request is refused. */
  admit(request: Request): Promise<Admission> {
    return this.checked(request, (here) => here()) as Promise<Admission>;
  }

  /** Like `admit`, but forwards the stream when another node owns the session; then it resolves with null. */
  admitOrHandOn(request: Request, { stream, head }: WaitingStream): Promise<Admission | null> {
    const { node } = this.context;
    return this.checked(request, (here) => (node ? node.admit(request, here, stream, head) : here()));
  }

  private async checked(request: Request, find: FindSession): Promise<Admission | null> {
    try {
      return await this.check(request, find);
    } catch (thrown) {
      const { code, message: why } = toProtocolError(thrown);
      const about = { request: requestIdOf(request), code };
      const { logger } = this.context.engine;
      if (code === 'internal')
        logger.error(
          'a connection was not opened because of a fault of the server: the client got the code "internal"',
          { ...about, error: String(thrown) },
        );
      if (code === 'unauthorized' || code === 'forbidden')
        this.context.access.logRefusal(request, 'a connection was rejected: see code and why', {
          ...about,
          why,
        });
      throw thrown;
    }
  }

  private async check(request: Request, find: FindSession): Promise<Admission | null> {
    const { access, engine, sessions } = this.context;
    if (this.context.isClosing()) throw request.headers.has(FORWARDED) ? new NotHere() : new ShuttingDown();
    access.checkOrigin(request);
    const identity = await access.identify(request);
    const { user } = identity;
    const url = new URL(request.url);
    const connectionId = engine.newId();
    const asked = url.searchParams.get('session');
    const { idLength } = engine.options.limits;
    const sessionId =
      asked === null
        ? newSessionId(user, connectionId, idLength)
        : checkSessionId(asked, 'session', idLength);
    const wait = this.context.reads.limiter?.take(user) ?? 0;
    if (wait > 0) throw rateLimited('Too many connections', wait);
    const countOut = this.counts.countIn(user);
    try {
      if (this.isChat(request)) {
        // A socket of the AI SDK's transport stays at this node. Each frame names a chat, and is forwarded to the node that owns the session of that chat.
        await this.counts.checkEverywhere(user);
        // Deno makes the request unreadable when its socket opens, so its URL and headers are copied.
        const handshake = { url: request.url, headers: new Headers(request.headers) };
        return { accept: (socket) => this.acceptChat(socket, handshake, identity, countOut), drop: countOut };
      }
      const session = await find(async () => {
        const found = await sessions.getOrCreate(user, sessionId);
        await this.counts.checkEverywhere(user);
        return found;
      });
      if (!session) {
        countOut();
        this.context.reads.limiter?.giveBack(user);
        return null;
      }
      return {
        accept: (socket) =>
          this.accept(socket, {
            id: connectionId,
            identity,
            session,
            url,
            headers: request.headers,
            countOut,
            nodes: nodesOf(request, this.context),
          }),
        drop: countOut,
      };
    } catch (error) {
      countOut();
      throw error;
    }
  }

  /** The largest frame that a client may send, in bytes. */
  get maxFrameBytes(): number {
    return this.context.engine.options.limits.bodyBytes;
  }

  get size(): number {
    return this.open.size;
  }

  /** Asks every client to reconnect, and closes all sockets. */
  close(): void {
    for (const connection of [...this.open])
      connection.end('shutting_down', 'The server is restarting. Try again in a moment.');
  }

  private accept(socket: Socket, admitted: Admitted): SocketConnection {
    const { engine, pacing, limiter, basePath } = this.context;
    const { id, identity, session, url, headers, countOut, nodes } = admitted;
    const { toolRequest } = engine.options;
    const { user } = identity;
    let unwatch: () => void = () => undefined;
    const connection = new SocketConnection({
      id,
      socket,
      session,
      identity,
      nodes,
      place: {
        last: url.searchParams.get('last'),
        sound: parseSoundPlace(url.searchParams.get('sound')),
      },
      clock: engine.clock,
      pacing,
      logger: engine.logger,
      limits: this.limits,
      protocolLimits: engine.options.limits,
      large: this.context.large,
      held: this.context.budget.open(user),
      arrivalMs: this.context.budget.limits.arrivalMs,
      allow: {
        message: () => limiter?.take(user) ?? 0,
        answer: () => this.answers.take(user),
      },
      isSignedOut: engine.signIn.isAsked
        ? async () => (await engine.signIn.ask(identity)) === 'signed-out'
        : null,
      forTools: toolRequest ? (fields) => toolRequestOf(toolRequest, headers, fields) : undefined,
      present: (messages) => withAddresses(messages, url.origin.replace(/^ws/, 'http') + basePath),
      onEnd: (ended) => {
        countOut();
        unwatch();
        this.left(ended, session);
      },
    });
    unwatch = engine.signIn.watch(identity, () => connection.end('unauthorized', NO_LONGER_SIGNED_IN));
    this.take(connection, session);
    return connection;
  }

  private acceptChat(
    socket: Socket,
    handshake: FramedRequest['handshake'],
    identity: Identity,
    countOut: () => void,
  ): ChatConnection {
    const { engine, large, budget, chatSocket, sends, node } = this.context;
    const { logger, clock, signIn, newId } = engine;
    const { user } = identity;
    let unwatch: () => void = () => undefined;
    const connection = new ChatConnection({
      id: newId(),
      socket,
      clock,
      logger,
      limits: this.limits,
      large,
      held: budget.open(user),
      arrivalMs: budget.limits.arrivalMs,
      onAbort: chatSocket?.onAbort ?? 'stop',
      sends,
      user,
      askOthers: node && ((asked) => node.askOthers(framedRequest({ ...asked, handshake }, this.context))),
      ask: (asked) => answerFramed({ ...asked, identity, handshake, requestId: newId() }, this.context),
      onEnd: (ended) => {
        countOut();
        unwatch();
        this.open.delete(ended);
        logger.info('disconnected', { connection: ended.id });
      },
    });
    unwatch = signIn.watch(identity, () => connection.end('unauthorized', NO_LONGER_SIGNED_IN));
    this.open.add(connection);
    // The server may have begun to close after this connection was admitted.
    if (this.context.isClosing())
      connection.end('shutting_down', 'The server is restarting. Try again in a moment.');
    else logger.info('connected', { connection: connection.id });
    return connection;
  }

  /** Throws when a user already has as many connections in this process as the limit allows. */
  checkRoom(user: string): void {
    this.counts.checkRoom(user);
  }

  private take(connection: SocketConnection, session: Session): void {
    const { logger } = this.context.engine;
    this.open.add(connection);
    // The server may have begun to close after this connection was admitted.
    if (this.context.isClosing())
      return connection.end('shutting_down', 'The server is restarting. Try again in a moment.');
    logger.info('connected', { connection: connection.id, session: session.key.id });
    connection.open().catch((thrown: unknown) => {
      const { code, message } = toProtocolError(thrown);
      if (code === 'internal')
        logger.error(
          'a connection ended while it opened: its client reconnects; the error is a fault of the server',
          { connection: connection.id, error: String(thrown) },
        );
      connection.end(code, message);
    });
  }

  private left(connection: SocketConnection, session: Session): void {
    const { logger } = this.context.engine;
    this.open.delete(connection);
    logger.info('disconnected', { connection: connection.id, session: session.key.id });
    session.leave(connection);
  }
}
