import { readChatFrame, readChatFrameValue } from '../../protocol/chat-frames.ts';
import { ERRORS, type ErrorCode, ProtocolError, toProtocolError } from '../../protocol/index.ts';
import type { ChatReply, ChatRequest } from '../../protocol/wire/chat-frames.ts';
import type { HeldBytes } from '../access/limits.ts';
import type { PendingSends } from '../clients/requests.ts';
import type { Clock } from '../clock.ts';
import type { FramedRequest } from '../http/http.ts';
import type { Reply } from '../http/reply.ts';
import type { ChatSocketOptions } from '../http/route.ts';
import type { LargeJson } from '../large-json.ts';
import type { Logger } from '../logger.ts';
import { ChatResponse } from './chat-response.ts';
import { FrameMeter, Intake, type WholeFrame } from './incoming.ts';
import type { AcceptedSocket, Socket, SocketLimits } from './socket.ts';
import { IDLE_TEXTS, SocketLife } from './socket-connection.ts';

/** The largest number of responses that one socket carries at a time. */
const MAX_RESPONSES = 64;
/** The largest number of ended responses for whose pong the connection waits. It forgets older ones, so a client that resumes gets those once more. */
const MAX_UNCONFIRMED = 64;
const TOO_MANY = 'Too many responses are open on this connection. Wait until one ends.';

/** The HTTP request that a frame is converted to. */
export type RoutedFrame = Pick<FramedRequest, 'method' | 'path' | 'search' | 'body'>;

/** The objects and callbacks that a connection uses. */
export interface ChatConnectionContext {
  id: string;
  socket: Socket;
  clock: Clock;
  logger: Logger;
  limits: SocketLimits;
  large: LargeJson;
  /** Counts the bytes of frames until they are handled. */
  held: HeldBytes;
  /** How long a frame may take to arrive. */
  arrivalMs: number;
  onAbort: ChatSocketOptions['onAbort'];
  /** Answers a request as the HTTP routes do, here or at the owner of its session. */
  ask: (asked: RoutedFrame) => Promise<Reply>;
  /** The unanswered requests to the chats of all users, over all sockets at this node. */
  sends: PendingSends;
  user: string;
  /** Sends a request to every other node, and resolves when all have answered. Null when this process is not a node of a cluster. */
  askOthers: ((asked: RoutedFrame) => Promise<void>) | null;
  onEnd: (connection: ChatConnection) => void;
}

/** A request of this connection until its response ends. */
interface OpenRequest {
  chat: string;
  response: ChatResponse;
  /** Settles when the request was answered: its response began, or it was refused. */
  answered: Promise<unknown>;
}

/**
 * One socket of the AI SDK's own `WebSocketChatTransport`. It carries the responses of several chats, at most `MAX_RESPONSES` at a time. It converts each
 * frame to a request to the HTTP routes, and their replies to frames. It decides nothing about a conversation.
 */
export class ChatConnection implements AcceptedSocket {
  readonly id: string;
  private readonly context: ChatConnectionContext;
  private readonly intake: Intake;
  private readonly meter: FrameMeter;
  private readonly life: SocketLife;
  private readonly open = new Map<string, OpenRequest>();
  /** The responses that pongs will confirm, by the payload of their pings: the chat, and the id of the last chunk. */
  private readonly unconfirmed = new Map<string, { chat: string; last: string }>();
  private pings = 0;
  private sent = 0;
  private isOpen = true;

  constructor(context: ChatConnectionContext) {
    const { socket, clock, limits } = context;
    this.id = context.id;
    this.context = context;
    const end = (error: ProtocolError) => this.end(error.code, error.message);
    this.intake = new Intake({
      held: context.held,
      arrivalMs: context.arrivalMs,
      clock,
      large: context.large,
      take: (frame) => this.take(frame),
      refuse: end,
    });
    // The connection ends as soon as one frame is dropped, because the AI SDK's transport would wait forever for the answer to that frame.
    const onFlood = () =>
      this.end('flooded', 'The client sends too many frames, so the connection was closed.');
    this.meter = new FrameMeter({ limits, clock, refuse: onFlood, onFlood });
    this.life = new SocketLife({
      clock,
      limits,
      ping: () => socket.ping(),
      onEnd: (why) => this.end('idle', IDLE_TEXTS[why]),
    });
    const { life } = this;
    const isSent = () => this.sent;
    life.begin({
      get last() {
        return isSent();
      },
    });
  }

  arrived(piece: number): void {
    if (this.isOpen) this.intake.arrived(piece);
  }

  receive(data: Uint8Array, isBinary: boolean): void {
    if (!this.isOpen) return;
    this.life.noteFrame();
    this.intake.receive(data, isBinary);
  }

  ping(data: Uint8Array): void {
    if (!this.isOpen || !this.meter.allows()) return;
    this.life.noteAlive();
    if (!this.isBehind) this.context.socket.pong(data);
  }

  /** Handles a pong. The client has received everything that was sent before its ping, so the pong confirms the response that ended there. */
  pong(data?: Uint8Array): void {
    if (!this.isOpen || !this.meter.allows()) return;
    this.life.noteAlive();
    const name = data ? Buffer.from(data).toString() : '';
    const confirmed = this.unconfirmed.get(name);
    this.unconfirmed.delete(name);
    if (!confirmed) return;
    const { chat, last } = confirmed;
    // An error is harmless: a client that resumes gets the unconfirmed response again.
    this.context
      .ask({ method: 'POST', path: `/stream/${encodeURIComponent(chat)}/received`, body: { last } })
      .catch(() => undefined);
  }

  /** Handles the end of the socket. Turns continue, and the client can resume their responses. */
  closed(): void {
    this.intake.close();
    this.leave();
  }

  /** Closes the socket. Only the close frame says why, because the protocol of the AI SDK has no frame for errors of a connection. */
  end(code: ErrorCode, message: string): void {
    if (!this.isOpen) return;
    const meaning = ERRORS[code];
    this.context.socket.close('close' in meaning ? meaning.close : 1008, message.slice(0, 120));
    this.leave();
  }

  private leave(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.life.end();
    this.intake.stopWaiting();
    for (const { response } of this.open.values()) response.close();
    this.open.clear();
    this.context.onEnd(this);
  }

  private get isBehind(): boolean {
    return this.context.socket.bufferedAmount > this.context.limits.maxBufferedBytes;
  }

  private take(frame: WholeFrame): Promise<unknown> | undefined {
    if (!this.isOpen || !this.meter.allows()) return;
    if (frame.kind === 'binary') {
      this.end('invalid_frame', 'This socket accepts no binary frames: send JSON as text.');
      return;
    }
    try {
      const read = frame.kind === 'text' ? readChatFrame(frame.text) : readChatFrameValue(frame.value);
      return this.request(read);
    } catch (thrown) {
      const error = toProtocolError(thrown);
      if (error.requestId === undefined) this.end(error.code, error.message);
      else this.refuse(error.requestId, error);
      return;
    }
  }

  /** Performs the request of a frame. Resolves when the request was answered, so that the bytes of the frame are counted until then. */
  private request(frame: ChatRequest): Promise<unknown> | undefined {
    const { requestId } = frame;
    if (frame.type === 'abort') return this.abort(requestId);
    const { id: chat } = frame;
    if (this.open.has(requestId)) return;
    if (this.open.size >= MAX_RESPONSES) throw new ProtocolError('busy', TOO_MANY, { requestId });
    const { ask, clock, sends, user } = this.context;
    const path = `/stream/${encodeURIComponent(chat)}/stream`;
    const response = new ChatResponse({
      requestId,
      clock,
      send: (text) => this.write(text),
      isBehind: () => this.isBehind,
      resume: (last) => ask({ method: 'GET', path, search: `last=${encodeURIComponent(last)}` }),
    });
    const answered =
      frame.type === 'send'
        ? sends.add(user, chat, ask({ method: 'POST', path: '/stream', body: postOf(frame) }))
        : this.resume(chat, { method: 'GET', path, search: 'replay=1' });
    this.open.set(requestId, { chat, response, answered });
    const done = answered.then((reply) => this.relay(frame, reply, response));
    done.catch((thrown: unknown) => this.refuse(requestId, toProtocolError(thrown), thrown));
    return answered.catch(() => undefined);
  }

  /**
   * Asks for the newest response of a chat. Waits first for earlier requests to the chat, at this node and, if there is no response, at the others: the client
   * may have lost its connection before the owner got its request.
   */
  private async resume(chat: string, replay: RoutedFrame): Promise<Reply> {
    const { ask, sends, user, askOthers } = this.context;
    await sends.settled(user, chat);
    const reply = await ask(replay);
    if (reply.status !== 204 || !askOthers) return reply;
    await askOthers({ method: 'POST', path: `/stream/${encodeURIComponent(chat)}/settled` });
    return ask(replay);
  }

  private async relay(
    { type, requestId, ...frame }: ChatRequest,
    reply: Reply,
    response: ChatResponse,
  ): Promise<void> {
    const open = this.open.get(requestId);
    if (open?.response !== response || !('id' in frame)) return response.close();
    if (reply.status === 204) {
      this.open.delete(requestId);
      return this.reject({ type: 'no-active', requestId });
    }
    if (type === 'resume') this.send({ type: 'start', requestId });
    const end = await response.relay(reply);
    if (this.open.get(requestId) !== open) return;
    this.open.delete(requestId);
    // A closed socket is a network error for the client, after which it can resume. An error frame would end the response for good.
    if (end === 'lost')
      return this.end('moved', 'The conversation moved to another server. Reconnect and resume.');
    this.send({ type: 'end', requestId });
    const name = String(++this.pings);
    this.unconfirmed.set(name, { chat: open.chat, last: response.lastId });
    this.unconfirmed.delete(String(this.pings - MAX_UNCONFIRMED));
    this.context.socket.ping(Buffer.from(name));
  }

  /** Handles an `abort` frame: sends no more of the response and, unless `onAbort` is `leave`, stops the turn as soon as it has started. */
  private async abort(requestId: string): Promise<void> {
    const open = this.open.get(requestId);
    if (!open) return;
    this.open.delete(requestId);
    open.response.close();
    const { ask, onAbort, logger } = this.context;
    if (onAbort === 'leave') return;
    const reply = await open.answered.catch(() => null);
    if (!reply) return;
    await ask({ method: 'POST', path: `/sessions/${encodeURIComponent(open.chat)}/stop` }).catch(
      (error: unknown) =>
        logger.warn('a response was not stopped: it runs until its turn ends', {
          session: open.chat,
          error: String(error),
        }),
    );
  }

  private refuse(requestId: string, error: ProtocolError, thrown: unknown = error): void {
    this.open.delete(requestId);
    if (error.code === 'internal' && !(thrown instanceof ProtocolError))
      this.context.logger.error(
        'a frame could not be handled: its client got an error frame; the error is a fault of the server',
        { connection: this.id, error: String(thrown) },
      );
    this.reject({ type: 'error', requestId, errorText: error.message });
  }

  /**
   * Answers a request that gets no response. Closes the connection of a client that does not read, because such answers would otherwise fill its send queue
   * without limit.
   */
  private reject(frame: ChatReply): void {
    if (this.isBehind)
      this.end(
        'overloaded',
        'The client reads too slowly, so the connection was closed. Reconnect to resume.',
      );
    else this.send(frame);
  }

  private send(frame: ChatReply): void {
    this.write(JSON.stringify(frame));
  }

  private write(text: string): void {
    if (!this.isOpen) return;
    this.sent++;
    this.context.socket.send(text);
  }
}

/**
 * Makes the body of `POST /stream` from a `send` frame. It has only the last message, because the server reads no other (rule C14). It has the fields of the
 * frame's `body`, because the option `toolRequest` may name them.
 */
function postOf({
  id,
  messages,
  trigger,
  messageId,
  requestId,
  body,
}: Extract<ChatRequest, { type: 'send' }>): Record<string, unknown> {
  const own = typeof body === 'object' && !Array.isArray(body) ? body : {};
  return { ...own, id, messages: messages.slice(-1), trigger, messageId, requestId, stock: true };
}
