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

/** Why nothing can be sent now; null when it can. A message that was refused holds back those that follow it. */
export function heldBy({
  status,
  connection,
  session,
}: Pick<UseDuologueHelpers, 'status' | 'connection' | 'session'>):
  | 'elsewhere'
  | 'closed'
  | 'network'
  | 'answer'
  | 'error'
  | null {
  if (connection.status === 'taken-over') return 'elsewhere';
  if (connection.status === 'closed') return 'closed';
  if (!['live', 'idle', 'connecting'].includes(connection.status)) return 'network';
  if (status === 'error') return 'error';
  return status === 'ready' && session.status === 'ready' ? null : 'answer';
}

/**
 * Keeps what was written while nothing could be sent, also when the page is loaded again, and sends it in order, once
 * each, when it can. Without a session nothing is kept.
 */
export function useSendQueue(
  sessionId: string | null,
  canSend: boolean,
  send: (draft: Draft) => void,
): { queue: readonly Draft[]; add: (draft: Draft) => void; remove: (id: string) => void } {
  const [queue, setQueue] = useState<readonly Draft[]>(() => keptDrafts(sessionId));
  const [first] = queue;
  useEffect(() => keepDrafts(sessionId, queue), [sessionId, queue]);
  useEffect(() => {
    if (!canSend || !first) return;
    setQueue((all) => all.filter(({ id }) => id !== first.id));
    send(first);
  }, [canSend, first, send]);
  const add = useCallback((draft: Draft) => setQueue((all) => [...all, draft]), []);
  const remove = useCallback((id: string) => setQueue((all) => all.filter((one) => one.id !== id)), []);
  return { queue, add, remove };
}
