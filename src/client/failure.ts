import type { DataParts } from '../protocol/chunks.ts';
import { ERRORS, type ErrorCode, ProtocolError, type WireError } from '../protocol/errors.ts';

/** An error of the wire as a thrown one. */
export function toError({ code, message, retryAfterMs }: WireError | DataParts['error']): ProtocolError {
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'internal';
  return new ProtocolError(known, message, { retryAfterMs });
}
