import { setTimeout } from 'node:timers';
import { noteAddress } from '../access/client-address.ts';
import type { Duologue } from '../duologue.ts';
import type { AcceptedSocket } from '../socket/socket.ts';
import type { Admission } from '../socket/sockets.ts';
import { admitUpgrade, notFound, refuseCluster } from './upgrade.ts';

/** The part of the second argument of a `Deno.serve` handler that Duologue uses. */
export interface DenoInfo {
  remoteAddr: object;
}

/** A handler for `Deno.serve`. */
export type DenoHandler = (request: Request, info: DenoInfo) => Promise<Response>;

/** A socket of `Deno.upgradeWebSocket`. */
type DenoSocket = Pick<
  WebSocket,
  'binaryType' | 'bufferedAmount' | 'readyState' | 'close' | 'onopen' | 'onmessage' | 'onclose' | 'onerror'
> & { send(data: string | Uint8Array): void };

/** The part of the runtime that this adapter uses. */
interface DenoRuntime {
  upgradeWebSocket(
    request: Request,
    options: { protocol?: string; idleTimeout: number },
  ): { socket: DenoSocket; response: Response };
}

/** The `readyState` of an open socket. */
const OPEN = 1;
/** Deno pings a client that was silent for half of this time, and closes its connection when no pong comes in the other half. */
const IDLE_SECONDS = 20;
/**
 * If a connection is still open this long after a response, Deno has got a frame or a pong from the client since, and the server counts the response as
 * received.
 */
const CONFIRMED_MS = 3 * IDLE_SECONDS * 1000;

/**
 * Serves Duologue with `Deno.serve`, sockets included. Requests for other paths go to `fallback`, or get 404. For several nodes use `serve` of
 * `duologue/server/node`, which runs on Deno too.
 *
 * @example
 * Deno.serve({ port: 3000, hostname: 'localhost' }, duologueDeno(duologue, () => new Response('hello')));
 */
export function duologueDeno(
  duologue: Duologue,
  fallback: (request: Request) => Response | Promise<Response> = notFound,
): DenoHandler {
  refuseCluster(duologue, 'duologueDeno');
  return async (request, { remoteAddr }) => {
    noteAddress(request, (remoteAddr as { hostname?: string }).hostname);
    const admitted = await admitUpgrade(duologue, request);
    if (admitted instanceof Response) return admitted;
    if (admitted) return open(request, admitted.admission, admitted.protocol);
    return (await duologue.respond(request)) ?? fallback(request);
  };
}

function open(request: Request, admission: Admission, protocol: string | undefined): Response {
  const { Deno: runtime } = globalThis as unknown as { Deno: DenoRuntime };
  let upgraded: ReturnType<DenoRuntime['upgradeWebSocket']>;
  try {
    upgraded = runtime.upgradeWebSocket(request, {
      idleTimeout: IDLE_SECONDS,
      ...(protocol === undefined ? {} : { protocol }),
    });
  } catch {
    // The handshake lacks a header, or the client is gone.
    admission.drop();
    return new Response(null, { status: 400 });
  }
  const { socket, response } = upgraded;
  socket.binaryType = 'arraybuffer';
  let connection: AcceptedSocket | null = null;
  socket.onopen = () => {
    connection = accept(socket, admission, protocol ?? '');
  };
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    const isBinary = typeof data !== 'string';
    connection?.receive(isBinary ? new Uint8Array(data) : Buffer.from(data), isBinary);
  };
  // An `error` event is always followed by `close`, which is handled below.
  socket.onerror = () => undefined;
  socket.onclose = () => {
    connection?.closed();
    connection = null;
    admission.drop();
  };
  return response;
}

function accept(socket: DenoSocket, admission: Admission, protocol: string): AcceptedSocket {
  const connection = admission.accept({
    // Deno's server socket does not report the chosen subprotocol.
    protocol,
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send(data) {
      // `send` on a broken socket throws until its `close` event has come.
      if (socket.readyState === OPEN) socket.send(data);
    },
    // Deno has no method to send a ping. It pings clients itself, and closes the connection of a client that does not answer. So while a connection is
    // open, the pong that the server waits for is reported without a ping.
    ping(name) {
      if (name === undefined) connection.pong();
      else setTimeout(() => connection.pong(name), CONFIRMED_MS).unref();
    },
    // Deno answers pings itself, and does not report them.
    pong: () => undefined,
    close: (code, reason) => socket.close(code, reason),
  });
  return connection;
}
