import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/** An HTTP request that the fake received. */
export interface SeenCall {
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** What the fake answers: chunks of a stream, an error, or code that answers itself. */
export type FakeReply =
  | readonly Record<string, unknown>[]
  | { error: { code: number; message: string; status: string } }
  | ((response: ServerResponse) => void);

/** One live connection, seen from the server. */
export interface FakeLive {
  /** 1 for the first connection. */
  number: number;
  /** What the client sent, the setup first. */
  received: Record<string, unknown>[];
  send(...messages: Record<string, unknown>[]): void;
  /** How many bytes of it wait because the client does not read. */
  readonly waiting: number;
  /** Sends a frame as it is. */
  sendRaw(frame: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
  /** Cuts the line. */
  terminate(): void;
}

/** What the fake does live: on each message of the client, the setup included. */
export type OnLive = (message: Record<string, unknown>, connection: FakeLive) => void;

/** A server on this machine that speaks Gemini's HTTP and live protocols as far as a script says. */
export class FakeGemini {
  readonly calls: SeenCall[] = [];
  readonly connections: FakeLive[] = [];
  /** Sockets that are open now. */
  open = 0;
  reply: (call: SeenCall) => FakeReply = () => ({
    error: { code: 500, message: 'The fake has no reply.', status: 'INTERNAL' },
  });
  onLive: OnLive = (message, connection) => {
    if ('setup' in message) connection.send({ setupComplete: {} });
  };
  /** Called as soon as a socket is open, before the client has sent anything. */
  onConnect: (connection: FakeLive) => void = () => undefined;
  /** Refuses the upgrade with this status instead of opening a socket. */
  refuse: number | undefined;
  private readonly server = createServer();
  /** Called when a client sends a ping. */
  onPing: () => void = () => undefined;
  /** Whether the fake leaves pings unanswered. */
  set isDeaf(isDeaf: boolean) {
    this.sockets.options.autoPong = !isDeaf;
  }
  private readonly sockets = new WebSocketServer({ noServer: true });
  private readonly waiting: (() => void)[] = [];

  static async start(): Promise<FakeGemini> {
    const fake = new FakeGemini();
    await new Promise<void>((resolve) => fake.server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  private constructor() {
    this.server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, unknown>;
        const call = { url: request.url ?? '', headers: request.headers, body };
        this.calls.push(call);
        answer(this.reply(call), call, response);
      });
    });
    this.server.on('upgrade', (request, socket, head) => {
      if (this.refuse !== undefined) {
        socket.end(`HTTP/1.1 ${this.refuse} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
        return;
      }
      this.sockets.handleUpgrade(request, socket, head, (webSocket) => this.accept(webSocket));
    });
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when the condition holds; asked again whenever something arrives or a socket ends. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets.clients) socket.terminate();
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private accept(socket: WebSocket): void {
    this.open += 1;
    const connection: FakeLive = {
      number: this.connections.length + 1,
      received: [],
      get waiting() {
        return socket.bufferedAmount;
      },
      send: (...messages) => {
        for (const message of messages) socket.send(JSON.stringify(message));
      },
      sendRaw: (frame) => socket.send(frame),
      close: (code, reason) => socket.close(code, reason),
      terminate: () => socket.terminate(),
    };
    this.connections.push(connection);
    this.onConnect(connection);
    socket.on('error', () => {});
    socket.on('ping', () => {
      this.onPing();
      this.wake();
    });
    socket.on('close', () => {
      this.open -= 1;
      this.wake();
    });
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as Record<string, unknown>;
      connection.received.push(message);
      this.onLive(message, connection);
      this.wake();
    });
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

function answer(reply: FakeReply, call: SeenCall, response: ServerResponse): void {
  if (typeof reply === 'function') {
    reply(response);
    return;
  }
  if ('error' in reply) {
    response.writeHead(reply.error.code, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply));
    return;
  }
  if (!call.url.includes(':streamGenerateContent')) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply.at(-1) ?? {}));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of reply) response.write(`data: ${JSON.stringify(chunk)}\r\n\r\n`);
  response.end();
}

/** A chunk with these parts. */
export function chunk(
  parts: Record<string, unknown>[],
  rest: { finishReason?: string; usageMetadata?: Record<string, number> } = {},
): Record<string, unknown> {
  const { finishReason, usageMetadata } = rest;
  return {
    candidates: [{ content: { role: 'model', parts }, ...(finishReason ? { finishReason } : {}), index: 0 }],
    ...(usageMetadata ? { usageMetadata } : {}),
  };
}
