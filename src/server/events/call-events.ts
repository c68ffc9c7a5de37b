import type { Message } from '../../protocol/index.ts';
import type { CallRecord, SessionKey } from '../store/store.ts';
import type { EventSource, PreparedEvent } from './event-hub.ts';
import type { EventRecord, ServerEventFields } from './server-events.ts';

/** The fields of an event about a recorded call. */
function calledIn({ id, toolName, messageId }: CallRecord): EventRecord {
  return { callId: id, toolName, messageId };
}

/** Whether a call asks its user to sign in. Such a call has an approval id too, but its events are those of a question, because a sign-in approves nothing. */
function isSignIn({ question }: CallRecord): boolean {
  return question?.kind === 'sign-in';
}

/** Prepares the event for the end of a message of the agent. `isLeft`: the user sent a new message while calls of this message waited. */
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

/** Prepares the event for an approval request, or a question, that is shown to the user. */
export function callAsked(events: EventSource, key: SessionKey, call: CallRecord): PreparedEvent | null {
  const { approvalId, expiresAt } = call;
  const fields = { ...calledIn(call), expiresAt };
  if (approvalId === null || isSignIn(call)) return events.prepare('question-asked', key, fields);
  return events.prepare('approval-requested', key, { approvalId, ...fields });
}

/** Prepares the event for an approval request that is decided or expires. For a sign-in it prepares `question-answered`. */
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

/** Prepares the event for a question that is answered, declined or expires. */
export function questionAnswered(
  events: EventSource,
  key: SessionKey,
  call: CallRecord,
  outcome: ServerEventFields['question-answered']['outcome'],
): PreparedEvent | null {
  return events.prepare('question-answered', key, { ...calledIn(call), outcome });
}
