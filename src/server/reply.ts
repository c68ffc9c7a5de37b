import { ProtocolError } from '../protocol/index.ts';
import type { ResponseReader } from './response-reader.ts';

/** What is answered to a request; a reader is written as it gives. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | ResponseReader | null;
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
  return reply;
}

/** A UI message stream. */
export function streamReply(reader: ResponseReader, sessionId: string): Reply {
  return {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-vercel-ai-ui-message-stream': 'v1',
      'x-accel-buffering': 'no',
      'x-duologue-session': encodeURIComponent(sessionId),
      // A client that loses the response before its first chunk still knows where to go on.
      'x-duologue-last': reader.lastId,
    },
    body: reader,
  };
}

/** Reads a JSON body within a limit. */
export async function readJson(request: Request, maxBytes: number): Promise<Record<string, unknown>> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
    throw new ProtocolError('unsupported_media', 'Send the body as application/json.');
  }
  const text = await readText(request, maxBytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ProtocolError('bad_json', 'The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProtocolError('bad_request', 'The body must be a JSON object.');
  }
  return value as Record<string, unknown>;
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  const tooLarge = () =>
    new ProtocolError('too_large', `The body is larger than ${Math.floor(maxBytes / 1024 / 1024)} MB.`);
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge();
  if (!request.body) return '';
  const decoder = new TextDecoder();
  let size = 0;
  let text = '';
  try {
    for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>) {
      size += piece.byteLength;
      if (size > maxBytes) throw tooLarge();
      text += decoder.decode(piece, { stream: true });
    }
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    throw new ProtocolError('bad_request', 'The body did not arrive whole.');
  }
  return text + decoder.decode();
}
