import { type FailureCode, ModelFailure, withoutKeys } from '../provider-error.ts';
import type { AfterClose, CloseReason, SocketClose } from './provider.ts';

/** Close codes for invalid data: the same data would be refused again. */
const INVALID_DATA = [1002, 1003, 1007, 1009, 1010];

/**
 * Decides what to do after a socket closed. `isSetUp`: the session had started; `isResuming`: its setup named an earlier session. The HTTP status of a
 * refused upgrade decides first, then the close reason, then the close code. The text of the failure contains no key.
 */
export function classifyClose(
  { code, reason, status }: SocketClose,
  reasons: readonly CloseReason[],
  { isSetUp, isResuming }: { isSetUp: boolean; isResuming: boolean },
): { then: AfterClose; failure: ModelFailure } {
  const detail = reason ? `: ${withoutRetryWords(withoutKeys(reason))}` : '';
  const did = isSetUp ? 'ended' : 'refused';
  const result = (then: AfterClose, failure: FailureCode) => ({
    then,
    failure: new ModelFailure(failure, `The live model ${did} the connection (${status ?? code})${detail}`),
  });
  if (status !== undefined) return result(status === 429 || status >= 500 ? 'retry' : 'stop', `${status}`);
  const known = reasons.find(([pattern]) => pattern.test(reason));
  if (known) {
    const [, then, failure] = known;
    // The session that the setup resumes may have been started with another model, so try a new session.
    if (failure === 'SETUP' && isResuming) return result('restart', failure);
    // The socket closed before the session started: the provider refused the setup of a new session, and would refuse it again. This is not certain if the
    // setup resumes a session, because that session may simply be too old, nor with the code 1011, which means an error of the provider.
    if (then !== 'stop' && !isSetUp && !isResuming && code !== 1011) return result('stop', 'SETUP');
    return result(then, failure);
  }
  if (INVALID_DATA.includes(code))
    return isSetUp || isResuming ? result('restart', 'INCOMPLETE') : result('stop', 'SETUP');
  if (code === 1008 && !isSetUp) return isResuming ? result('restart', 'SETUP') : result('stop', 'SETUP');
  return result('retry', isSetUp ? 'INCOMPLETE' : 'UNREACHABLE');
}

/** Replaces the words by which ADK recognises the error of a lost connection, in any case. After such an error ADK would connect again without a pause. */
function withoutRetryWords(text: string): string {
  return text
    .replaceAll(/connection ?closed/gi, 'connection ended')
    .replaceAll(/ECONNRESET|socket hang up/gi, 'cut off');
}
