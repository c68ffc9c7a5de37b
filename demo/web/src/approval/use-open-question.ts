import type { UseDuologueHelpers } from 'duologue/react';
import { hasUnsettledDecision } from '../chat/use-actions.ts';
import { useNow } from '../ui/use-now.ts';

/**
 * Whether a message that is sent now would cancel a call. That happens only over SSE: a call that waits for the user,
 * or whose decision has no outcome yet. Over BIDI such calls stay open.
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
  // Over SSE the server may not report the timeout, so the clock of the page decides that the time is up.
  const now = useNow(mayCancel && open.length > 0);
  if (!mayCancel) return false;
  return open.some(({ expiresAt }) => expiresAt === null || expiresAt > now) || hasUnsettledDecision(last);
}
