import type { DataParts } from '../protocol/chunks.ts';
import { ERRORS, type ErrorCode, ProtocolError, type WireError } from '../protocol/errors.ts';
import type { ConnectionState } from './connection.ts';

/** An error of the wire as a thrown one. */
export function toError({ code, message, retryAfterMs }: WireError | DataParts['error']): ProtocolError {
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'internal';
  return new ProtocolError(known, message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** A failure of the network. The SDK takes a response up again after a TypeError that names the network. */
function networkError(what: string): TypeError {
  return new TypeError(`The network connection ${what}.`);
}

/** Why a connection in this state does not come back by itself; null when it may. */
export function endingOf(state: ConnectionState): Error | null {
  if (state.status === 'taken-over') {
    return new ProtocolError('taken_over', 'This conversation goes on in another window.');
  }
  if (state.status !== 'closed') return null;
  switch (state.code) {
    case ERRORS.unauthorized.close:
      return new ProtocolError('unauthorized', state.reason || 'You are not signed in.');
    case ERRORS.forbidden.close:
      return new ProtocolError('forbidden', state.reason || 'This page may not use the server.');
    case ERRORS.not_found.close:
      return new ProtocolError('not_found', state.reason || 'This conversation was deleted.');
    default:
      return networkError('was closed');
  }
}
