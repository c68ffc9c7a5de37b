import type { Message } from '../../protocol/index.ts';
import type { CallRecord, SessionKey } from '../store/store.ts';
import type { EventSource, PreparedEvent } from './event-hub.ts';
import type { EventRecord, ServerEventFields } from './server-events.ts';

/** What events tell of a recorded call. */
function calledIn({ id, toolName, messageId }: CallRecord): EventRecord {
  return { callId: id, toolName, messageId };
}

/** Whether a call asks its user to sign in. It has an approval id, too, but for events it is a question: a sign-in approves nothing. */
function isSignIn({ question }: CallRecord): boolean {
  return question?.kind === 'sign-in';
}

/** A message of the agent is over. `isLeft`: the user went on while its calls waited. */
export function turnFinished(
  events: EventSource,
  key: SessionKey,
  { id, metadata }: Message,
  isLeft = false,
): PreparedEvent | null {
  const isInterrupted = isLeft || metadata?.interrupted;
  const outcome = metadata?.failed ? 'failed' : isInterrupted ? 'interrupted' : 'complete';
  return events.prepare('turn-finished', key, { messageId: id, outcome, usage: metadata?.usage ?? null });
}

/** The approval request, or the question, of a call is shown. */
export function callAsked(events: EventSource, key: SessionKey, call: CallRecord): PreparedEvent | null {
  const { approvalId, expiresAt } = call;
  const fields = { ...calledIn(call), expiresAt };
  if (approvalId === null || isSignIn(call)) return events.prepare('question-asked', key, fields);
  return events.prepare('approval-requested', key, { approvalId, ...fields });
}

/** An approval request is decided, or expires. */
export function approvalDecided(
  events: EventSource,
  key: SessionKey,
  call: CallRecord,
  { decision, by }: Pick<ServerEventFields['approval-decided'], 'decision' | 'by'>,
): PreparedEvent | null {
  const { approvalId } = call;
  if (approvalId === null) return null;
  if (isSignIn(call)) {
    const outcomes = { approved: 'answered', denied: 'declined', expired: 'expired' } as const;
    return questionAnswered(events, key, call, outcomes[decision]);
  }
  return events.prepare('approval-decided', key, { ...calledIn(call), approvalId, decision, by });
}

/** A question is answered, or expires. */
export function questionAnswered(
  events: EventSource,
  key: SessionKey,
  call: CallRecord,
  outcome: ServerEventFields['question-answered']['outcome'],
): PreparedEvent | null {
  return events.prepare('question-answered', key, { ...calledIn(call), outcome });
}
