import type { UseDuologueHelpers } from 'duologue/react';
import { hasUnsettledDecision } from '../chat/use-actions.ts';
import { useNow } from '../ui/use-now.ts';

/**
 * Whether a message sent now would cancel a call: over SSE one that waits for a decision, or whose decision has not reached
 * its end. Over one connection both go on.
 */
export function useOpenQuestion({
  mode,
  approvals,
  questions,
  messages,
}: Pick<UseDuologueHelpers, 'mode' | 'approvals' | 'questions' | 'messages'>): boolean {
  const last = messages.at(-1);
  const open = [...approvals, ...questions];
  const mayCancel = mode === 'sse' && last?.role === 'assistant';
  // Where the server does not tell that the time is up, the clock of the page does.
  const now = useNow(mayCancel && open.length > 0);
  if (!mayCancel) return false;
  return open.some(({ expiresAt }) => expiresAt === null || expiresAt > now) || hasUnsettledDecision(last);
}
