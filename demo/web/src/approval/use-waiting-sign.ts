import type { PendingApproval, PendingQuestion } from 'duologue/react';
import { useEffect } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { secondsUntil, useNow } from '../ui/use-now.ts';

/**
 * The text before the title of the page while an approval or a question waits, with the seconds of the one that expires first; null when none
 * waits. While the page is hidden, a notification says the same, if the user has already allowed notifications: the page does not ask for them.
 */
export function useWaitingSign(
  approvals: readonly PendingApproval[],
  questions: readonly PendingQuestion[] = [],
): string | null {
  const messages = useMessages();
  const words = questions.length > 0 ? messages.question : messages.approval;
  const all = [...approvals, ...questions];
  const isTimed = all.some(({ expiresAt }) => expiresAt !== null);
  const now = useNow(isTimed, 1000);
  const open = all.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  const count = open.length;
  useEffect(() => {
    if (count === 0 || !document.hidden || !mayNotify()) return;
    const notification = new Notification(words.waiting(count), { tag: 'duologue-approval' });
    notification.onclick = () => window.focus();
    return () => notification.close();
  }, [count, words]);
  if (count === 0) return null;
  const first = Math.min(...open.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY));
  return words.titleSign(count, Number.isFinite(first) ? secondsUntil(first, now) : null);
}

/**
 * Whether this page may show notifications. Some browsers have none, and on phones only service workers may show
 * them.
 */
function mayNotify(): boolean {
  return typeof Notification === 'function' && Notification.permission === 'granted';
}
