import { noteAddress } from '../access/client-address.ts';
import type { Duologue } from '../duologue.ts';
import type { AcceptedSocket } from '../socket/socket.ts';
import type { Admission } from '../socket/sockets.ts';
import { admitUpgrade, CLOSE_MS, notFound, refuseCluster } from './upgrade.ts';

/** The data that Duologue attaches to a socket of `Bun.serve`. */
export interface BunSocketData {
  protocol: string;
  admission: Admission;
  /** Null until the socket is open. */
  connection: AcceptedSocket | null;
}

/** The part of a socket of `Bun.serve` that Duologue uses. */
export interface BunSocket {
  data: BunSocketData;
  send(data: string | Uint8Array): number;
  ping(data?: Uint8Array): number;
  close(code: number, reason: string): void;
  terminate(): void;
  getBufferedAmount(): number;
}

/** The part of the server object of `Bun.serve` that Duologue uses. */
export interface BunServer {
  upgrade(request: Request, options: { data: BunSocketData; headers?: Record<string, string> }): boolean;
  requestIP(request: Request): { address: string } | null;
  timeout(request: Request, seconds: number): void;
}

/** The part of the options of `Bun.serve` that serves Duologue. */
export interface BunOptions {
  /** Answers a request; undefined when it became a WebSocket. */
  fetch(request: Request, server: BunServer): Promise<Response | undefined>;
  websocket: {
    maxPayloadLength: number;
    backpressureLimit: number;
    open(socket: BunSocket): void;
    message(socket: BunSocket, data: string | Uint8Array): void;
    ping(socket: BunSocket, data: Uint8Array): void;
    pong(socket: BunSocket, data: Uint8Array): void;
    close(socket: BunSocket): void;
  };
}

/** Bun silently drops messages when more bytes than this wait to be sent. Duologue's own limits are far lower. */
const BACKPRESSURE_BYTES = 1024 * 1024 * 1024;

/**
 * Serves Duologue with `Bun.serve`, sockets included. Requests for other paths go to `fallback`, or get 404. For several nodes use `serve` of
 * `duologue/server/node`, which runs on Bun too.
 *
 * @example
 * Bun.serve({ port: 3000, hostname: 'localhost', ...duologueBun(duologue, () => new Response('hello')) });
 */
export function duologueBun(
  duologue: Duologue,
  fallback: (request: Request) => Response | Promise<Response> = notFound,
): BunOptions {
  refuseCluster(duologue, 'duologueBun');
  return {
    async fetch(request, server) {
      noteAddress(request, server.requestIP(request)?.address);
      const admitted = await admitUpgrade(duologue, request);
      if (admitted instanceof Response) return admitted;
      if (admitted) {
        const { admission, protocol = '' } = admitted;
        const data: BunSocketData = { protocol, admission, connection: null };
        // Without this header Bun would answer with every subprotocol that the client offers, and one of them carries the client's key.
        const headers: Record<string, string> = protocol === '' ? {} : { 'sec-websocket-protocol': protocol };
        if (server.upgrade(request, { data, headers })) return undefined;
        admission.drop();
        return new Response(null, { status: 400 });
      }
      const response = await answer(duologue, request, server);
      return response ?? fallback(request);
    },
    websocket: {
      maxPayloadLength: duologue.sockets.maxFrameBytes,
      backpressureLimit: BACKPRESSURE_BYTES,
      open(socket) {
        const { data } = socket;
        data.connection = data.admission.accept({
          protocol: data.protocol,
          get bufferedAmount() {
            return socket.getBufferedAmount();
          },
          send(text) {
            socket.send(text);
          },
          ping(name) {
            socket.ping(name);
          },
          // Bun answers pings itself.
          pong: () => undefined,
          close(code, reason) {
            socket.close(code, reason);
            // A client that does not answer the close is disconnected.
            setTimeout(() => socket.terminate(), CLOSE_MS).unref();
          },
        });
      },
      message({ data: { connection } }, data) {
        const isBinary = typeof data !== 'string';
        connection?.receive(isBinary ? data : Buffer.from(data), isBinary);
      },
      ping: ({ data: { connection } }, name) => connection?.ping(name),
      pong: ({ data: { connection } }, name) => connection?.pong(name),
      close({ data: { connection, admission } }) {
        if (connection) connection.closed();
        admission.drop();
      },
    },
  };
}

/** Answers a request; null when the path belongs to no route. Removes Bun's time limit, which ends a response that sends nothing for ten seconds. */
function answer(duologue: Duologue, request: Request, server: BunServer): Promise<Response | null> {
  const answered = duologue.respond(request);
  server.timeout(request, 0);
  return answered;
}
