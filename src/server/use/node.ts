import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isLoopback } from '../access.ts';
import type { Duologue } from '../duologue.ts';
import type { Reply } from '../reply.ts';
import { ResponseReader } from '../response-reader.ts';
import { toRequest } from './request.ts';
import { attachWebSocket } from './ws.ts';

/** Where to listen. */
export interface ServeOptions {
  port?: number;
  host?: string;
  /** Answers what is not the server's, e.g. the files of a web app. */
  fallback?: (request: IncomingMessage, response: ServerResponse) => void;
}

/** A server that listens. */
export interface Served {
  server: Server;
  port: number;
  url: string;
  /** Ends requests in progress and stops listening. */
  close(): Promise<void>;
}

/** Handles Node's requests; what is not the server's goes to `fallback`, or gets 404. */
export function nodeListener(
  duologue: Duologue,
  fallback?: ServeOptions['fallback'],
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const web = toRequest(request);
    if (!web) {
      response.writeHead(400).end();
      return;
    }
    duologue
      .handle(web)
      .then((reply) => {
        if (reply) return write(reply, request, response);
        if (fallback) return fallback(request, response);
        response.writeHead(404, { 'content-type': 'application/json' });
        response.end('{"error":{"code":"not_found","message":"There is nothing here.","retryable":false}}');
      })
      .catch(() => response.destroy());
  };
}

/** Listens on one port. A public address without a key is refused. */
export async function serve(duologue: Duologue, options: ServeOptions = {}): Promise<Served> {
  const { port = 3000, host = 'localhost' } = options;
  if (!isLoopback(host) && !duologue.needsKey) {
    throw new Error(
      `Refusing to listen on ${host} without a key: anyone could use the agent. Set an API key, or listen on localhost.`,
    );
  }
  const server = createServer(nodeListener(duologue, options.fallback));
  attachWebSocket(server, duologue);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
  const { port: actual } = server.address() as AddressInfo;
  return {
    server,
    port: actual,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await duologue.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function write(reply: Reply, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { body } = reply;
  if (response.destroyed) {
    // The client went away while its turn was waited for.
    if (body instanceof ResponseReader) body.close();
    return;
  }
  response.writeHead(reply.status, reply.headers);
  if (!(body instanceof ResponseReader)) {
    response.end(body ?? undefined);
    // A refused upload is not read to its end: the connection cannot be used again.
    if (!request.complete) response.once('finish', () => request.destroy());
    return;
  }
  response.flushHeaders();
  response.once('close', () => body.close());
  body.onDrop = () => response.destroy();
  for (let text = await body.next(); text !== null; text = await body.next()) {
    if (!response.write(text)) await drained(response);
    if (response.destroyed) return;
  }
  if (!body.isDropped) response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle);
      response.off('close', settle);
      resolve();
    };
    response.once('drain', settle);
    response.once('close', settle);
  });
}
