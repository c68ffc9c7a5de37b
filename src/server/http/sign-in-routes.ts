import { randomBytes } from 'node:crypto';
import { type Answer, ProtocolError } from '../../protocol/index.ts';
import { NO_LONGER_SIGNED_IN } from '../access/sign-in.ts';
import { json, type Reply } from './reply.ts';
import type { RouteCall } from './route.ts';

const MAX_BODY = 32 * 1024;
const MAX_ERROR = 200;

/**
 * The page to which a sign-in provider sends the browser back. Its script posts the query parameters to this server in a second request: with the first one,
 * which the provider's site caused, browsers do not send a cookie of the user that is `SameSite=Strict`.
 */
export function signInPage(): Reply {
  const nonce = randomBytes(16).toString('base64');
  return {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    },
    body: PAGE.replaceAll('NONCE', nonce),
  };
}

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign-in</title>
<style nonce="NONCE">body { font: 1.1rem/1.5 system-ui, sans-serif; margin: 20vh auto; max-width: 32rem; padding: 0 1rem; text-align: center }</style>
<p id="text" role="status">Completing the sign-in.</p>
<noscript>Allow JavaScript for this page, and load it again.</noscript>
<script nonce="NONCE">
const given = new URLSearchParams(location.search);
const text = document.getElementById('text');
history.replaceState(null, '', location.pathname);
fetch(location.pathname, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ state: given.get('state'), code: given.get('code'), error: given.get('error') }),
})
  .then(async (answer) => {
    const { message, error } = await answer.json();
    text.textContent = answer.status === 401
      ? 'You are not signed in to the application in this browser. Sign in there, and begin again in the conversation.'
      : (message || error.message) + ' You can close this window.';
  })
  .catch(() => {
    text.textContent = 'The server cannot be reached. Begin again in the conversation.';
  });
</script>
</html>
`;

/**
 * Handles what the page of `signInPage` posts. Only the user for whom the sign-in was begun can complete it, only once, and only while signed in. The waiting
 * call gets the code of the provider. It is denied when the provider sent no code, for example because the user declined. If the
 * user has signed out of the application, the call still waits: the user signs in to the application, and opens the address of the provider once more.
 */
export async function completeSignIn({ context, user, identity, body }: RouteCall): Promise<Reply> {
  const { engine, commands } = context;
  const { toolSignIns, store, clock, appName, signIn } = engine;
  const { state, code, error } = await body(MAX_BODY);
  const about = toolSignIns.stateIn(state);
  if (!about)
    throw new ProtocolError(
      'bad_request',
      'This address belongs to no sign-in of this server, or the server was restarted since. Start the sign-in again in the conversation.',
    );
  const { key, callId } = about;
  if (key.user !== user || key.app !== appName)
    throw new ProtocolError(
      'forbidden',
      'Another user started this sign-in. Sign in to the application as that user.',
    );
  const call = await store.findCall(key, { id: callId });
  const url = call?.question?.kind === 'sign-in' ? call.question.url : undefined;
  const isOpen = url !== undefined && new URL(url).searchParams.get('state') === state;
  if (!call || call.approvalId === null || call.status !== 'requested' || !isOpen) throw isOver();
  if (call.expiresAt !== null && call.expiresAt <= clock.now())
    throw new ProtocolError('answer_refused', 'This sign-in has timed out. Ask the agent again.');
  const status = await signIn.ask(identity);
  if (status === 'signed-out')
    throw new ProtocolError(
      'unauthorized',
      `${NO_LONGER_SIGNED_IN} Sign in, and begin again in the conversation.`,
    );
  if (status === 'unknown')
    throw new ProtocolError(
      'internal',
      'The server could not check whether you are still signed in. Begin again in the conversation in a moment.',
      { retryAfterMs: 2000 },
    );
  const isGiven = typeof code === 'string' && code !== '' && error == null;
  const reason = `the provider answered ${JSON.stringify(String(error ?? 'without a code').slice(0, MAX_ERROR))}`;
  const answer: Answer = {
    kind: 'decision',
    toolCallId: callId,
    approvalId: call.approvalId,
    approved: isGiven,
    ...(isGiven ? { payload: toolSignIns.answerFor(about, code, call) } : { reason }),
  };
  const by = { application: 'sign-in', person: user };
  const requestId = `sign_in_${engine.newId()}`;
  await commands.run({ do: 'answer', key, by, answer, requestId }).catch((thrown: unknown) => {
    // Another callback, perhaps on another node, completed the sign-in after this one had found it open.
    throw thrown instanceof ProtocolError && thrown.code === 'nothing_to_answer' ? isOver() : thrown;
  });
  return json(200, { message: isGiven ? 'You are signed in.' : 'You did not sign in.' });
}

function isOver(): ProtocolError {
  return new ProtocolError(
    'answer_refused',
    'This sign-in is over: it was completed, declined or cancelled, or it timed out.',
  );
}
