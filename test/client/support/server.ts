import type { SessionInfo, WebSocketLike } from '../../../src/client/index.ts';
import {
  type AcceptedRequest,
  type Chunk,
  DONE,
  encodeBlock,
  type Message,
  parseChunkId,
  type ToolFacts,
} from '../../../src/protocol/index.ts';

type Any = { [key: string]: unknown };

/** A received client frame. */
export interface ClientFrame {
  type: string;
  version: string;
  data: Any;
}

/** A server as its sockets see it. */
export interface SocketServer {
  readonly sockets: FakeSocket[];
  accepts: boolean;
  greet(socket: FakeSocket): void;
  receive(frame: ClientFrame, socket: FakeSocket): void;
}

/** The server's end of a socket. */
export class FakeSocket implements WebSocketLike {
  binaryType = 'blob';
  bufferedAmount = 0;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  readonly sent: (string | Uint8Array)[] = [];
  closedWith: number | undefined;
  readonly url: string;
  readonly protocols: string[];
  private readonly server: SocketServer;

  constructor(server: SocketServer, url: string, protocols: string[]) {
    this.server = server;
    this.url = url;
    this.protocols = protocols;
    server.sockets.push(this);
    if (server.accepts) queueMicrotask(() => server.greet(this));
  }

  get isOpen(): boolean {
    return this.closedWith === undefined;
  }

  /** Whether client frames reach the server at once. During the greeting they wait. */
  isGreeted = true;
  private readonly underWay: string[] = [];

  send(data: string | Uint8Array): void {
    this.sent.push(data);
    if (typeof data === 'string') this.underWay.push(data);
    if (this.isGreeted) this.arrive();
  }

  /** Delivers the waiting frames to the server. */
  arrive(): void {
    for (let data = this.underWay.shift(); data !== undefined; data = this.underWay.shift()) {
      if (this.isOpen) this.server.receive(JSON.parse(data) as ClientFrame, this);
    }
  }

  close(code = 1005): void {
    this.closedWith ??= code;
  }

  /** A frame from the server. */
  deliver(data: string | ArrayBuffer): void {
    if (this.isOpen) this.onmessage?.({ data } as never);
  }

  /** The server, or the network, ends the socket. */
  end(code: number, reason = ''): void {
    if (!this.isOpen) return;
    this.closedWith = code;
    this.onclose?.({ code, reason } as never);
  }
}

/**
 * The wire of a server, without a server: a log of chunks with ids that any connection goes on reading where it left, and
 * frames that a test answers. It accepts every request that a test does not reject; its answers have the ids a1, a2 and so on.
 */
export class FakeServer implements SocketServer {
  readonly sockets: FakeSocket[] = [];
  readonly frames: ClientFrame[] = [];
  accepts = true;
  answersPings = true;
  epoch = 'e1';
  /** What is added to `data-session`. */
  tells: Partial<SessionInfo> = {};
  /** Whether `data-session` lists the received requests. */
  remembers = true;
  /** The messages of a reset, for clients that missed too many chunks. */
  history: Message[] = [];
  /** Closes the socket once, before that many further frames. */
  dropIn = Number.POSITIVE_INFINITY;
  /** Loses the next frame from the client, with its socket. */
  losesNext = false;
  onFrame: (frame: ClientFrame) => void = () => undefined;
  private log: (Chunk | null)[] = [];
  private written = 0;
  private readonly accepted: AcceptedRequest[] = [];
  private answers = 0;
  /** The request that a test is looking at, until it refuses it. */
  private request: string | null = null;

  readonly WebSocket: new (url: string, protocols: string[]) => WebSocketLike = socketOf(this);

  /** The socket in use. */
  get socket(): FakeSocket | undefined {
    return this.sockets.findLast((socket) => socket.isOpen);
  }

  /** The frames of one type. */
  framesOf(type: string): Any[] {
    return this.frames.filter((frame) => frame.type === type).map(({ data }) => data);
  }

  /** Sends chunks in one frame per batch; null is the end of a turn. */
  say(...chunks: (Chunk | null)[]): void {
    this.log.push(...chunks);
    this.flush();
  }

  /** Sends each chunk in its own frame. */
  sayEach(...chunks: (Chunk | null)[]): void {
    for (const chunk of chunks) this.say(chunk);
  }

  /** Sends a chunk outside the log. An error sent while a test handles a frame is the reply to that frame. */
  tell(chunk: Chunk): void {
    const requestId = this.request;
    if (chunk.type !== 'data-error' || requestId === null) {
      this.socket?.deliver(encodeBlock(chunk));
      return;
    }
    this.request = null;
    this.socket?.deliver(encodeBlock({ ...chunk, data: { ...chunk.data, requestId } }));
  }

  /** The process restarts: the log is lost. */
  restart(): void {
    this.epoch = `${this.epoch}x`;
    this.log = [];
    this.written = 0;
    this.socket?.end(1006);
  }

  greet(socket: FakeSocket): void {
    if (!socket.isOpen) return;
    // The client's replies to the greeting arrive after all of the greeting was sent.
    socket.isGreeted = false;
    this.greetNow(socket);
    socket.isGreeted = true;
    socket.arrive();
  }

  private greetNow(socket: FakeSocket): void {
    const query = new URL(socket.url).searchParams;
    const last = parseChunkId(query.get('last') ?? '');
    const resumed = last !== null && last.epoch === this.epoch;
    const sessionId = query.get('session') ?? 'session-1';
    socket.deliver(
      encodeBlock({
        type: 'data-session',
        data: {
          sessionId,
          connectionId: `c${this.sockets.length}`,
          epoch: this.epoch,
          resumed,
          newest: `${this.epoch}-${this.log.length}`,
          received: [],
          open: [],
          running: null,
          model: { hears: false, sees: true, speaks: false },
          floor: `c${this.sockets.length}`,
          ...this.memory(),
          ...this.tells,
        },
        transient: true,
      }),
    );
    if (query.has('last') && !resumed) {
      socket.deliver(encodeBlock({ type: 'data-reset', data: { messages: this.history }, transient: true }));
      this.written = this.log.length;
    } else this.written = resumed ? last.seq : 0;
    this.flush();
  }

  receive(frame: ClientFrame, socket: FakeSocket): void {
    if (frame.type === 'ping') {
      const { timestamp } = frame.data;
      if (this.answersPings) socket.deliver(JSON.stringify({ type: 'pong', timestamp }));
      return;
    }
    if (this.losesNext) {
      this.losesNext = false;
      socket.end(1006);
      return;
    }
    this.frames.push(frame);
    this.request = String(frame.data.requestId);
    this.onFrame(frame);
    const requestId = this.request;
    this.request = null;
    if (requestId !== null) this.accept(requestId, frame, socket);
  }

  private accept(requestId: string, { data }: ClientFrame, socket: FakeSocket): void {
    const before = this.accepted.find((one) => one.requestId === requestId);
    const [message] = (data.messages ?? []) as Message[];
    const accepted = before ?? {
      requestId,
      ...(message?.role === 'user' ? { messageId: `a${++this.answers}` } : {}),
    };
    if (!before) this.accepted.push(accepted);
    socket.deliver(encodeBlock({ type: 'data-accepted', data: accepted, transient: true }));
  }

  private memory(): Partial<SessionInfo> {
    const begun = this.log.findLast((chunk) => chunk?.type === 'start');
    const isRunning = this.log.length > 0 && this.log.at(-1) !== null;
    const running = isRunning && begun?.type === 'start' ? (begun.messageId ?? null) : null;
    return { running, ...(this.remembers ? { received: this.accepted } : {}) };
  }

  private flush(): void {
    const { socket } = this;
    if (!socket || this.written >= this.log.length) return;
    if (this.dropIn-- <= 0) {
      this.dropIn = Number.POSITIVE_INFINITY;
      return socket.end(1006);
    }
    let text = '';
    for (; this.written < this.log.length; this.written++) {
      const chunk = this.log[this.written];
      text += chunk ? encodeBlock(chunk, `${this.epoch}-${this.written + 1}`) : DONE;
    }
    socket.deliver(text);
  }
}

/** The constructor of sockets to a server. */
export function socketOf(server: SocketServer): new (url: string, protocols: string[]) => WebSocketLike {
  return class extends FakeSocket {
    constructor(url: string, protocols: string[]) {
      super(server, url, protocols);
    }
  };
}

/** The chunks that announce a call. */
export function announce(toolCallId: string, toolName: string, input: unknown, facts: ToolFacts): Chunk[] {
  const toolMetadata = { ...facts };
  return [
    { type: 'tool-input-start', toolCallId, toolName, toolMetadata },
    { type: 'tool-input-available', toolCallId, toolName, input, toolMetadata },
  ];
}

/** The chunks that ask for an approval, over BIDI. */
export function ask(toolCallId: string): Chunk[] {
  return [
    { type: 'start-step' },
    { type: 'tool-approval-request', toolCallId, approvalId: `approval-${toolCallId}` },
    { type: 'finish-step' },
  ];
}

/** A text block. */
export function text(id: string, ...deltas: string[]): Chunk[] {
  return [
    { type: 'text-start', id },
    ...deltas.map((delta): Chunk => ({ type: 'text-delta', id, delta })),
    { type: 'text-end', id },
  ];
}

/** A call of a server tool that needs approval, and a call of a client tool that does not. */
export const PAY: ToolFacts = { runsOn: 'server', asks: true };
export const LOCATE: ToolFacts = { runsOn: 'client', asks: true };
export const MUSIC: ToolFacts = { runsOn: 'client', asks: false };
export const WEATHER: ToolFacts = { runsOn: 'server', asks: false };
