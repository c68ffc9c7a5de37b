import { ProtocolError } from '../protocol/errors.ts';
import { type DuologueHttp, refusalIn } from './http.ts';

/** Statuses besides 5xx after which a retry may succeed: the request took too long, or there were too many. */
const PASSING = [408, 429];

/**
 * Asks over HTTP why no connection opens, since a browser hides how a server answered a WebSocket handshake. Resolves with an
 * error that no retry can repair, or with null when a retry may succeed.
 */
export async function causeOf(http: DuologueHttp, isPosting: boolean): Promise<ProtocolError | null> {
  const response = await http.request('/live').catch(() => null);
  if (!response || response.status >= 500 || PASSING.includes(response.status)) return null;
  const address = http.addressOf('');
  const type = response.headers.get('content-type');
  const error = await refusalIn(response);
  if (!error || error.code === 'not_found') {
    return new ProtocolError(
      'not_found',
      `There is no Duologue server at ${address || '/'}: it answered ${response.status}${type ? ` (${type})` : ''}. Check the "url" of the transport and where the server is mounted.`,
    );
  }
  if (error.code !== 'upgrade_required') return error;
  if (isPosting) return null;
  return new ProtocolError(
    error.code,
    `The server at ${address || '/'} is there, but no WebSocket to it opens. Let every proxy pass on "Upgrade" and open sockets on the server ("serve" or "attachWebSocket"), or use SSE.`,
  );
}
