import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { ServerEvent } from 'duologue/server';
import { verify } from './signature.ts';

const MAX_BODY = 64 * 1024;

/** A server that takes signed events and handles each once. */
export function createReceiver(
  secret: string,
  handle: (event: ServerEvent) => Promise<void>,
  now: () => number = Date.now,
): Server {
  // An event may come more than once. In production, keep the ids where the effect of the event is kept, for example as a unique key of the same table.
  const handled = new Set<string>();
  const answer = async (request: IncomingMessage): Promise<number> => {
    const body = await bodyOf(request);
    if (body === null) return 413;
    const { 'webhook-timestamp': timestamp, 'webhook-signature': signature } = request.headers;
    const signed = { timestamp: String(timestamp), signature: String(signature) };
    if (request.method !== 'POST' || !verify(secret, body, signed, now())) return 401;
    const event = JSON.parse(body) as ServerEvent;
    if (handled.has(event.id)) return 200;
    await handle(event);
    handled.add(event.id);
    return 200;
  };
  return createServer((request, response) => {
    answer(request).then(
      (status) => response.writeHead(status).end(),
      // Any other answer than 2xx brings the event again.
      () => response.writeHead(503).end(),
    );
  });
}

/** The body of a request; null when it is too large. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MAX_BODY) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
