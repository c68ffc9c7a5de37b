import type { Readable } from 'node:stream';
import type { ProtocolError } from '../../protocol/index.ts';
import { NotHere } from '../nodes/elsewhere.ts';
import { NOT_HERE } from '../nodes/forward.ts';
import type { ResponseReader } from './response-reader.ts';

/** What is answered to a request; a reader is written piece by piece, and what another node answers as it comes. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | ResponseReader | Readable | null;
}

/** Stands on every answer: what it is, is what `content-type` says, and nothing that a browser finds out by itself. */
export const NO_SNIFFING = { 'x-content-type-options': 'nosniff' } as const;

/** A JSON answer. */
export function json(status: number, value: unknown): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: JSON.stringify(value),
  };
}

/** An error as its status and JSON body. */
export function errorReply(error: ProtocolError): Reply {
  const reply = json(error.status, { error: error.toWire() });
  if (error.retryAfterMs !== undefined) {
    reply.headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
  }
  if (error instanceof NotHere) reply.headers[NOT_HERE] = '1';
  return reply;
}

/** The headers of a UI message stream of a session. */
export function streamHeaders(sessionId: string): Record<string, string> {
  return {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-vercel-ai-ui-message-stream': 'v1',
    'x-accel-buffering': 'no',
    'x-duologue-session': encodeURIComponent(sessionId),
  };
}

/** A UI message stream. */
export function streamReply(reader: ResponseReader, sessionId: string): Reply {
  return {
    status: 200,
    headers: {
      ...streamHeaders(sessionId),
      // A client that loses the response before its first chunk still knows where to go on.
      'x-duologue-last': reader.lastId,
    },
    body: reader,
  };
}
