import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Duologue } from '../duologue.ts';
import { NO_SNIFFING, type Reply } from '../http/reply.ts';
import { ResponseReader } from '../http/response-reader.ts';
import { toRequest } from './request.ts';

/** Answers a request of Node's server. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void;

/** Handles Node's requests; what is not the server's goes to `fallback`, or gets 404. */
export function nodeListener(duologue: Pick<Duologue, 'handle'>, fallback?: NodeListener): NodeListener {
  return (request, response) => {
    // A connection that breaks is no fault of anyone here; whoever waits for it hears of its close.
    request.on('error', () => undefined);
    response.on('error', () => response.destroy());
    const web = toRequest(request);
    if (!web) {
      response.writeHead(400, NO_SNIFFING).end();
      return;
    }
    duologue
      .handle(web)
      .then((reply) => {
        if (reply) return write(reply, request, response);
        if (fallback) return fallback(request, response);
        response.writeHead(404, { 'content-type': 'application/json', ...NO_SNIFFING });
        response.end(
          '{"error":{"code":"not_found","message":"There is no Duologue server at this path. Check the url of the client and the basePath of the server.","retryable":false}}',
        );
      })
      .catch(() => response.destroy());
  };
}

async function write(reply: Reply, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { body } = reply;
  if (response.destroyed) {
    // The client went away while its turn was waited for.
    if (body instanceof ResponseReader) body.close();
    if (body instanceof Readable) body.destroy();
    return;
  }
  response.writeHead(reply.status, reply.headers);
  if (body instanceof Readable) return pass(body, response);
  if (!(body instanceof ResponseReader)) {
    response.end(body ?? undefined);
    // A refused upload is not read to its end: the connection cannot be used again.
    if (!request.complete) response.once('finish', () => request.destroy());
    return;
  }
  response.once('close', () => body.close());
  body.onDrop = () => response.destroy();
  for (let isFirst = true; !body.isOver; isFirst = false) {
    const text = body.read();
    // The headers leave with the first text, or alone when there is none yet.
    if (text === '' && isFirst) response.flushHeaders();
    if (text === '') await body.more();
    else if (!response.write(text)) await drained(response);
    if (response.destroyed) return;
  }
  if (!body.isDropped) response.end();
}

/** Passes on what another node answers, until one of both ends. */
function pass(body: Readable, response: ServerResponse): void {
  response.flushHeaders();
  response.once('close', () => body.destroy());
  body.once('close', () => {
    if (!body.readableEnded) response.destroy();
  });
  body.pipe(response);
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
