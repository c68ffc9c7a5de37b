import type { UseDuologueHelpers } from 'duologue/react';
import { useCallback, useEffect, useState } from 'react';
import type { Picture } from '../images/accept.ts';
import { keepDrafts, keptDrafts } from './kept-drafts.ts';

/** A message that the person has written. */
export interface Draft {
  id: string;
  text: string;
  pictures: readonly Picture[];
}

/** Why nothing can be sent now. */
export type Hold = 'elsewhere' | 'closed' | 'network' | 'answer' | 'error' | 'approval';

/**
 * Why nothing can be sent now; null when it can. A message that was refused holds back those that follow it, and one that
 * would cancel an open question waits until that is settled, or the person insists.
 */
export function heldBy(
  { status, connection, session }: Pick<UseDuologueHelpers, 'status' | 'connection' | 'session'>,
  isQuestionOpen: boolean,
): Hold | null {
  if (connection.status === 'taken-over') return 'elsewhere';
  if (connection.status === 'closed') return 'closed';
  if (!['live', 'idle', 'connecting'].includes(connection.status)) return 'network';
  if (status === 'error') return 'error';
  if (status !== 'ready' || session.status !== 'ready') return 'answer';
  return isQuestionOpen ? 'approval' : null;
}

/**
 * Keeps what was written while nothing could be sent, also when the page is loaded again, and sends it in order, once
 * each, when it can. Without a session nothing is kept.
 */
export function useSendQueue(
  sessionId: string | null,
  held: Hold | null,
  send: (draft: Draft) => void,
): {
  queue: readonly Draft[];
  add: (draft: Draft) => void;
  remove: (id: string) => void;
  /** Sends the first one although it cancels an open question. */
  insist: () => void;
} {
  const [queue, setQueue] = useState<readonly Draft[]>(() => keptDrafts(sessionId));
  const [insisted, setInsisted] = useState<string | null>(null);
  const [first] = queue;
  const canSend = held === null || (held === 'approval' && first?.id === insisted);
  useEffect(() => keepDrafts(sessionId, queue), [sessionId, queue]);
  useEffect(() => {
    if (!canSend || !first) return;
    setQueue((all) => all.filter(({ id }) => id !== first.id));
    send(first);
  }, [canSend, first, send]);
  const add = useCallback((draft: Draft) => setQueue((all) => [...all, draft]), []);
  const remove = useCallback((id: string) => setQueue((all) => all.filter((one) => one.id !== id)), []);
  const insist = () => setInsisted(first?.id ?? null);
  return { queue, add, remove, insist };
}
