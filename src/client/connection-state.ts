import { ERRORS, ProtocolError } from '../protocol/errors.ts';

/** How a connection is doing. */
export type ConnectionState =
  | { status: 'idle' }
  | { status: 'connecting'; attempt: number }
  | { status: 'live'; sessionId: string; connectionId: string }
  | { status: 'reconnecting'; attempt: number; retryAt: number }
  | { status: 'offline'; attempt: number; retryAt: number }
  | { status: 'taken-over' }
  | { status: 'closed'; code: number; reason: string };

/** Refusals after which a new try would only be refused again, in words for a server that says none. */
const FINAL = {
  unauthorized: 'You are not signed in.',
  forbidden: 'This page may not use the server.',
  not_found: 'This conversation was deleted.',
  upgrade_required: 'The server takes no WebSocket connections.',
};

/** What a close code refuses for good, if it does. */
export function refusalOf(closeCode: number): keyof typeof FINAL | undefined {
  return (Object.keys(FINAL) as (keyof typeof FINAL)[]).find((code) => ERRORS[code].close === closeCode);
}

/** Why a connection in this state does not come back by itself; null when it may. */
export function endingOf(state: ConnectionState): Error | null {
  if (state.status === 'taken-over') {
    return new ProtocolError('taken_over', 'This conversation goes on in another window.');
  }
  if (state.status !== 'closed') return null;
  const code = refusalOf(state.code);
  // The SDK takes a response up again after a TypeError that names the network.
  if (!code) return new TypeError('The network connection was closed.');
  return new ProtocolError(code, state.reason || FINAL[code]);
}
