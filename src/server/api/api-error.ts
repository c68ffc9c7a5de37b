import { type ErrorCode, ProtocolError } from '../../protocol/index.ts';
import { StoreUnavailable } from '../store/store.ts';

/**
 * The codes of errors of the server API: those of the protocol (`not_found`, `too_large`, `busy`, `shutting_down` and so on), and these.
 * `unknown_approval`, `unknown_call`: no session has an approval request or a call with this id. `ambiguous_call`: several sessions have a call with
 * this id, so name the session. `already_decided`: the call was approved or denied before. `expired`: no user decided in time. `call_over`: the call
 * ended without a decision, for example because the user sent another message. `not_asked_yet`: the approval request is not shown yet, because another
 * request is shown before it. `not_waiting`: the call does not wait for an output from outside. `unavailable`: the store cannot be reached; try again.
 */
export type ServerApiErrorCode =
  | 'unknown_approval'
  | 'unknown_call'
  | 'ambiguous_call'
  | 'already_decided'
  | 'expired'
  | 'call_over'
  | 'not_asked_yet'
  | 'not_waiting'
  | 'unavailable'
  | ErrorCode;

/** An error of the server API. `code` says what failed. */
export class ServerApiError extends Error {
  override readonly name = 'ServerApiError';
  readonly code: ServerApiErrorCode;

  constructor(code: ServerApiErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.code = code;
  }
}

/** Converts a `ProtocolError` or `StoreUnavailable` to a `ServerApiError`. Any other value, e.g. a `TypeError`, is returned as it is. */
export function toApiError(thrown: unknown): unknown {
  if (thrown instanceof ProtocolError)
    return new ServerApiError(thrown.code, thrown.message, { cause: thrown });
  if (thrown instanceof StoreUnavailable)
    return new ServerApiError('unavailable', thrown.message, { cause: thrown });
  return thrown;
}

/** The error for input of the application that is not valid. */
export function badRequest(message: string): ServerApiError {
  return new ServerApiError('bad_request', message);
}
