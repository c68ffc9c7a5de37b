import { createHash } from 'node:crypto';
import { ProtocolError } from '../protocol/index.ts';

const HALF_CHARACTER = /\p{Surrogate}/u;

/** The session id that a client gave; throws when it cannot be one. `field` is where it stood. */
export function checkSessionId(id: unknown, field: string, mostLength: number): string {
  if (typeof id !== 'string' || id === '' || id.length > mostLength || HALF_CHARACTER.test(id)) {
    throw new ProtocolError(
      'bad_request',
      `"${field}" must be a text of 1 to ${mostLength} whole characters.`,
    );
  }
  // In an address these two mean the folder itself and the one above: such a session could never be asked for, nor deleted.
  if (id === '.' || id === '..')
    throw new ProtocolError('bad_request', `"${field}" must not be "." or "..".`);
  return id;
}

/** The id of a session that a client has not named. A user whose name does not fit into it stands there as a hash. */
export function newSessionId(user: string, unique: string, mostLength: number): string {
  const id = `session_${user}_${unique}`;
  if (id.length <= mostLength && !HALF_CHARACTER.test(id)) return id;
  return `session_${createHash('sha256').update(user, 'utf16le').digest('base64url')}_${unique}`;
}
