import { type Answer, ProtocolError } from '../../protocol/index.ts';
import { NO_LONGER_SIGNED_IN } from '../access/sign-in.ts';
import { json, type Reply } from './reply.ts';
import type { RouteCall } from './route.ts';
import { signInWords } from './sign-in-page.ts';

const MAX_BODY = 32 * 1024;
const MAX_ERROR = 200;

/**
 * Handles what the page of `signInPage` posts. Only the user for whom the sign-in was begun can complete it, only once, and only while signed in. The waiting
 * call gets the code of the provider. The call is denied when the provider sent no code, for example because the user declined. If the user has signed out of
 * the application, the call still waits: the user signs in to the application, and opens the address of the provider once more.
 */
export async function completeSignIn({ context, request, user, identity, body }: RouteCall): Promise<Reply> {
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
  const { signedIn, declined } = signInWords(request);
  return json(200, { message: isGiven ? signedIn : declined });
}

function isOver(): ProtocolError {
  return new ProtocolError(
    'answer_refused',
    'This sign-in is over: it was completed, declined or cancelled, or it timed out.',
  );
}
