import { ModelFailure } from '../provider-error.ts';
import { withoutKeys } from '../words.ts';

/** How a socket to a live model ended, or why there was none. */
export interface Closed {
  code: number;
  reason: string;
  /** The HTTP status, when the socket was refused. */
  status?: number | undefined;
}

/**
 * What an end means. `again`: the same session may be taken up, or a new one tried; `anew`: this session is lost, and another
 * one may do; `stop`: nothing will work before somebody mends it.
 */
export type CloseMeaning = { then: 'again' | 'anew' | 'stop'; failure: ModelFailure };

/** The service cuts its reasons after 123 bytes: the beginnings count. The first that fits decides. */
const REASONS: readonly [RegExp, CloseMeaning['then'], ConstructorParameters<typeof ModelFailure>[0]][] = [
  [/default credentials/i, 'stop', 'NO_CREDENTIALS'],
  [/quota|billing|resource.?exhausted/i, 'stop', 'QUOTA'],
  [/api.?key|unregistered caller|unauthenticated|credential/i, 'stop', '401'],
  [/permission|forbidden/i, 'stop', '403'],
  [/is not found|model.{0,80}not found|not supported for bidi/i, 'stop', '404'],
  [/unknown name|cannot find field|is not supported by the model|invalid value at|setup/i, 'stop', 'SETUP'],
  [/^requested entity was not found/i, 'anew', 'INCOMPLETE'],
  [/^the operation was aborted|^operation is not implemented/i, 'again', 'INCOMPLETE'],
  [/unavailable|overloaded/i, 'again', '503'],
];

/** Codes that say that something was wrong with what was sent: sent again, it would be wrong again. */
const WRONG = [1002, 1003, 1007, 1009, 1010];

/** Reads a close. `isSetUp`: the session had begun; `isResuming`: its setup named an earlier session. */
export function meaningOf(
  closed: Closed,
  { isSetUp, isResuming }: { isSetUp: boolean; isResuming: boolean },
): CloseMeaning {
  const { code, reason, status } = closed;
  const told = reason ? `: ${harmless(withoutKeys(reason))}` : '';
  const fail = (then: CloseMeaning['then'], failure: ModelFailure['code']): CloseMeaning => {
    const what = isSetUp ? 'The live model ended the connection' : 'The live model refused the connection';
    return { then, failure: new ModelFailure(failure, `${what} (${status ?? code})${told}`) };
  };
  if (status !== undefined) return fail(status === 429 || status >= 500 ? 'again' : 'stop', `${status}`);
  const known = REASONS.find(([pattern]) => pattern.test(reason));
  if (known) {
    const [, then, failure] = known;
    // Another model may have had the session.
    if (failure === 'SETUP' && isResuming) return fail('anew', failure);
    // What a session of its own does not take at all is refused at once; a resumed one may only be too old.
    if (then !== 'stop' && !isSetUp && !isResuming && code !== 1011) return fail('stop', 'SETUP');
    return fail(then, failure);
  }
  if (WRONG.includes(code)) return isSetUp || isResuming ? fail('anew', 'INCOMPLETE') : fail('stop', 'SETUP');
  if (code === 1008 && !isSetUp) return isResuming ? fail('anew', 'SETUP') : fail('stop', 'SETUP');
  return fail('again', isSetUp ? 'INCOMPLETE' : 'UNREACHABLE');
}

/** ADK tries again by itself after an error with one of these words, without a pause. */
function harmless(text: string): string {
  return text
    .replaceAll(/connection closed/gi, 'connection ended')
    .replaceAll(/ECONNRESET|socket hang up/g, 'cut off');
}
