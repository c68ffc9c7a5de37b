import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { toProtocolError } from '../../protocol/index.ts';
import { checkOptions, is, type OptionChecks } from '../../protocol/options.ts';
import { isLoopback } from '../access/access.ts';
import type { Duologue } from '../duologue.ts';
import { errorReply, NO_SNIFFING } from '../http/reply.ts';
import type { Admission } from '../socket/sockets.ts';
import { type NodeListener, nodeListener, toRequest } from './node-listener.ts';
import { CLOSE_MS, chosenProtocol, TOO_MUCH } from './upgrade.ts';

export { nodeListener };

/**
 * How long an idle connection is kept open. Load balancers keep their connections for a minute. The side that sends requests must close first:
 * otherwise a request may meet a connection that the server is just closing, and fail.
 */
const IDLE_MS = 75_000;

/** Options of `serve`. */
export interface ServeOptions {
  /** The port; 3000 unless given, and any free port for 0. */
  port?: number;
  /** The host name or address to listen on; `localhost` unless given. */
  host?: string;
  /** Answers requests for other paths, e.g. the files of a web app. */
  fallback?: NodeListener;
  /** If true, the address is not logged. Otherwise `serve` logs it in one line: with the server's `logger` if there is one, else on the console. */
  quiet?: boolean;
}

const SERVE_CHECKS: OptionChecks<ServeOptions> = {
  port: (value) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535
      ? null
      : 'a number from 0 to 65535',
  host: is('a string'),
  fallback: is('a function'),
  quiet: is('true or false (boolean)'),
};

/** Adds what to do to the error of a port that another program has. The code of the error stays. */
function portError(error: NodeJS.ErrnoException, port: number): NodeJS.ErrnoException {
  if (error.code === 'EADDRINUSE')
    error.message = `Port ${port} is in use by another program: stop that one, or give serve another port.`;
  return error;
}

/** A listening server. */
export interface Served {
  server: Server;
  port: number;
  url: string;
  /** Closes the server (`Duologue.close`), ends the connections, and stops listening. */
  close(): Promise<void>;
}

/**
 * Listens on one port, for HTTP and WebSockets, and logs the address. Rejects for a public address when the server has neither a key nor `authenticate`, and
 * when the port cannot be opened.
 *
 * @example
 * const { url, close } = await serve(createDuologue({ agent }), { port: 3000 });
 */
export async function serve(duologue: Duologue, options: ServeOptions = {}): Promise<Served> {
  checkOptions('serve', SERVE_CHECKS, options);
  const { port = 3000, host = 'localhost' } = options;
  if (!isLoopback(host) && !duologue.isGuarded) {
    throw new Error(
      `Refusing to listen on ${host} without a key: anyone could use the agent. Give the server an apiKey or authenticate, or listen on localhost.`,
    );
  }
  const server = createServer(nodeListener(duologue, options.fallback));
  server.keepAliveTimeout = IDLE_MS;
  attachWebSocket(server, duologue);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(portError(error, port)));
    server.listen(port, host, () => resolve());
  });
  const { port: actual } = server.address() as AddressInfo;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${actual}`;
  if (!options.quiet) duologue.listens(url);
  return {
    server,
    port: actual,
    url,
    async close() {
      // Hand over before the port closes: other nodes would consider a node dead whose port refuses connections, and would take its sessions over.
      await duologue.handOver();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await duologue.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The part of a Node server that `attachWebSocket` uses. Frameworks declare different types for their servers. */
interface UpgradingServer {
  on(event: 'upgrade', listener: (request: IncomingMessage, stream: Duplex, head: Buffer) => void): unknown;
  listenerCount(event: 'upgrade'): number;
}

/**
 * Serves WebSockets on a Node server, at `…/live`, and at `…/ws` (option `chatSocket`) for the AI SDK's own transport. Upgrades for other paths are left to
 * other listeners, or refused when there are none.
 *
 * @example
 * const server = app.listen(3000, 'localhost');
 * attachWebSocket(server, duologue);
 */
export function attachWebSocket(server: UpgradingServer, duologue: Duologue): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: duologue.sockets.maxFrameBytes,
    perMessageDeflate: false,
    // Our connection answers pings instead of the library, so that pings count towards its frame limit.
    autoPong: false,
    handleProtocols: (offered) => chosenProtocol(offered) ?? false,
  });
  server.on('upgrade', (request, stream, head) => {
    // Add this listener before anything else: the client may reset the connection at any moment, and an error without a listener would end the process.
    stream.on('error', () => stream.destroy());
    const web = toRequest(request);
    if (!web || !duologue.sockets.matches(web)) {
      if (server.listenerCount('upgrade') === 1) refuse(stream, 404, 'Not Found', {}, '');
      return;
    }
    open(duologue, sockets, web, request, stream, head).catch(() => stream.destroy());
  });
}

async function open(
  duologue: Duologue,
  sockets: WebSocketServer,
  web: Request,
  request: IncomingMessage,
  stream: Duplex,
  head: Buffer,
): Promise<void> {
  let admission: Admission | null;
  try {
    admission = await duologue.sockets.admitOrHandOn(web, { stream, head });
  } catch (thrown) {
    const { status, headers, body } = errorReply(toProtocolError(thrown));
    return refuse(stream, status, 'Refused', headers, String(body));
  }
  // Another node owns the session, and the stream is connected to that node now.
  if (!admission) return;
  const { drop } = admission;
  if (stream.destroyed) return drop();
  stream.once('close', drop);
  sockets.handleUpgrade(request, stream, head, (socket) => connect(socket, stream, admission));
}

function connect(socket: WebSocket, stream: Duplex, admission: Admission): void {
  socket.on('error', () => socket.terminate());
  const connection = admission.accept({
    protocol: socket.protocol,
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send: (data) => socket.send(data),
    ping: (data) => socket.ping(data),
    pong: (data) => socket.pong(data),
    close(code, reason) {
      socket.close(code, reason);
      // Stop reading from a client that sends too much; even its answer to the close is not read.
      if (TOO_MUCH.has(code)) socket.pause();
      // A client that does not answer the close is disconnected.
      const timer = setTimeout(() => socket.terminate(), CLOSE_MS);
      timer.unref();
      socket.once('close', () => clearTimeout(timer));
    },
  });
  socket.on('message', (data: Buffer, isBinary: boolean) => connection.receive(data, isBinary));
  // This listener runs after the library's own, so that a frame that ends in this piece is received before the piece is counted.
  stream.on('data', (piece: Buffer) => connection.arrived(piece.byteLength));
  socket.on('ping', (data) => connection.ping(data));
  socket.on('pong', (data) => connection.pong(data));
  socket.on('close', () => connection.closed());
}

function refuse(
  stream: Duplex,
  status: number,
  reason: string,
  headers: Record<string, string>,
  body: string,
): void {
  const lines = Object.entries({
    ...headers,
    ...NO_SNIFFING,
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  });
  stream.end(
    `HTTP/1.1 ${status} ${reason}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
    // Destroy the stream after the reply: otherwise a client that keeps its side open would keep the stream open forever.
    () => stream.destroy(),
  );
}
