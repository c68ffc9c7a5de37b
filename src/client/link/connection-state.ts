import { ERRORS, ProtocolError } from '../../protocol/errors.ts';

/** The state of a connection. `retryAt` is in milliseconds since 1970. */
export type ConnectionState =
  /** Not connected, and not trying to connect. */
  | { status: 'idle' }
  | { status: 'connecting'; attempt: number }
  | { status: 'live'; sessionId: string; connectionId: string }
  | { status: 'reconnecting'; attempt: number; retryAt: number }
  | { status: 'offline'; attempt: number; retryAt: number }
  /** The user continued the conversation in another window. `connect()` continues it here. */
  | { status: 'taken-over' }
  | { status: 'closed'; code: number; reason: string };

/** The errors after which the server would reject a retry as well. Each has a text for the case that the server sends none. */
const FINAL = {
  unauthorized: 'You are not signed in.',
  forbidden: 'This page is not allowed to use the server.',
  not_found: 'This conversation was deleted.',
  upgrade_required: 'The server does not accept WebSocket connections.',
};

/** Returns the error of a close code after which no retry can succeed; undefined when a retry may succeed. */
export function finalErrorOf(closeCode: number): keyof typeof FINAL | undefined {
  return (Object.keys(FINAL) as (keyof typeof FINAL)[]).find((code) => ERRORS[code].close === closeCode);
}

/** Returns why a connection in this state does not reconnect by itself; null when it may. */
export function endOf(state: ConnectionState): Error | null {
  if (state.status === 'taken-over') {
    return new ProtocolError('taken_over', 'This conversation continues in another window.');
  }
  if (state.status !== 'closed') return null;
  const code = finalErrorOf(state.code);
  // The AI SDK treats a `TypeError` whose text names the network as a lost connection.
  if (!code) return new TypeError('The network connection was closed.');
  return new ProtocolError(code, state.reason || FINAL[code]);
}
