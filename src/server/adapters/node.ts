import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isLoopback } from '../access/access.ts';
import type { Duologue } from '../duologue.ts';
import { type NodeListener, nodeListener } from './node-listener.ts';
import { attachWebSocket } from './ws.ts';

export { attachWebSocket, nodeListener };

/**
 * How long an idle connection is kept. Balancers keep theirs for a minute: the side that sends the requests has to close first, or one of them meets
 * a connection that is just being closed, and fails.
 */
const IDLE_MS = 75_000;

/** Where to listen. */
export interface ServeOptions {
  port?: number;
  host?: string;
  /** Answers what is not the server's, e.g. the files of a web app. */
  fallback?: NodeListener;
  /** Does not say where the server listens. Otherwise that is one line: in the server's `logger` if it has one, else on the console. */
  quiet?: boolean;
}

/** A server that listens. */
export interface Served {
  server: Server;
  port: number;
  url: string;
  /** Ends requests in progress and stops listening. */
  close(): Promise<void>;
}

/** Listens on one port. A public address is refused to a server that has neither a key nor `authenticate`. */
export async function serve(duologue: Duologue, options: ServeOptions = {}): Promise<Served> {
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
    server.once('error', reject);
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
      // One that takes no connections is dead to the other nodes: they would take over what still runs here.
      await duologue.handOver();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await duologue.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
