import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Voice } from './voice.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * `GET /voice` says whether voice can be used, `POST /voice` fetches what is missing. Everything else goes on. A model that hears and
 * speaks by itself needs nothing: `voice` is null.
 */
export function voiceRoute(voice: Voice | null, next: Handler): Handler {
  return (request, response) => {
    if (new URL(request.url ?? '/', 'http://localhost').pathname !== '/voice') {
      next(request, response);
      return;
    }
    const isOurs = isFromHere(request);
    if (request.method === 'POST' && isOurs) voice?.prepare();
    const isAllowed = request.method === 'GET' || request.method === 'POST';
    response.writeHead(isOurs ? (isAllowed ? 200 : 405) : 403, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.end(
      JSON.stringify(
        isOurs ? (voice?.now ?? { status: 'ready' }) : { error: 'only for the page of this server' },
      ),
    );
  };
}

/** A page of somebody else may not have megabytes fetched. */
function isFromHere({ headers }: IncomingMessage): boolean {
  if (headers.origin === undefined) return true;
  try {
    return new URL(headers.origin).host === headers.host;
  } catch {
    return false;
  }
}
