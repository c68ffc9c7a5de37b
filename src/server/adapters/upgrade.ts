import { ERRORS, SUBPROTOCOL, toProtocolError, WATCHING_SUBPROTOCOL } from '../../protocol/index.ts';
import type { Duologue } from '../duologue.ts';
import { errorReply, NO_SNIFFING, toResponse } from '../http/reply.ts';
import type { Admission } from '../socket/sockets.ts';

/** How long a client may take to answer the close frame of the server. */
export const CLOSE_MS = 1000;

/** Close codes for clients that send too much. */
export const TOO_MUCH: ReadonlySet<number> = new Set([ERRORS.flooded.close, ERRORS.overloaded.close]);

/** The body of the reply to a request for a path that belongs to no route. */
export const NOT_FOUND =
  '{"error":{"code":"not_found","message":"There is no Duologue server at this path. Check the url of the client and the basePath of the server.","retryable":false}}';

/** The subprotocol that the server chooses from those that a client offers; undefined when the client offers none of the server's. */
export function chosenProtocol(offered: ReadonlySet<string>): string | undefined {
  return [WATCHING_SUBPROTOCOL, SUBPROTOCOL].find((protocol) => offered.has(protocol));
}

/** Answers a request for a path that belongs to no route, when the application has no handler for it. */
export function notFound(): Response {
  return new Response(NOT_FOUND, {
    status: 404,
    headers: { 'content-type': 'application/json', ...NO_SNIFFING },
  });
}

/** A web request that was admitted as a WebSocket, and the subprotocol to answer with. */
export interface AdmittedUpgrade {
  admission: Admission;
  protocol: string | undefined;
}

/**
 * Checks a web request that may ask for a WebSocket: null when it does not, or is for another path; a `Response` when it is refused. The runtime
 * (`Bun.serve`, `Deno.serve`) opens the socket of an admitted request, and the caller drops the admission when the socket does not open.
 */
export async function admitUpgrade(
  duologue: Duologue,
  request: Request,
): Promise<AdmittedUpgrade | Response | null> {
  const { headers } = request;
  if (headers.get('upgrade')?.toLowerCase() !== 'websocket' || !duologue.sockets.matches(request))
    return null;
  try {
    const admission = await duologue.sockets.admit(request);
    const offered = (headers.get('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());
    return { admission, protocol: chosenProtocol(new Set(offered)) };
  } catch (thrown) {
    return toResponse(errorReply(toProtocolError(thrown)));
  }
}

/** Throws for a node of a cluster: without the raw stream of a socket, this adapter cannot connect the socket to the node that owns its session. */
export function refuseCluster(duologue: Duologue, adapter: string): void {
  if (!duologue.sockets.mayHandOn) return;
  throw new Error(
    `${adapter} cannot pass a socket on to another node. Serve several nodes with "serve" of duologue/server/node, which runs on Bun and Deno too.`,
  );
}
