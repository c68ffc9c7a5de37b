import type { UseDuologueHelpers } from 'duologue/react';
import { useCallback, useEffect, useState } from 'react';
import type { Draft } from './draft.ts';
import { keepDrafts, keptDrafts } from './kept-drafts.ts';

/** Why queued messages are not sent now. */
export type Hold = 'elsewhere' | 'closed' | 'network' | 'answer' | 'error' | 'cut' | 'unsent' | 'approval';

/**
 * Why queued messages are not sent now; null when they can be sent. After a failure (`after`) they wait until the
 * user sends one of them, writes another message, tries again, or dismisses the error. A message that would cancel an
 * open approval or question waits until that is settled, or until the user sends the message anyway.
 */
export function heldBy(
  { status, connection, session }: Pick<UseDuologueHelpers, 'status' | 'connection' | 'session'>,
  isQuestionOpen: boolean,
  after: 'cut' | 'unsent' | null,
): Hold | null {
  if (connection.status === 'taken-over') return 'elsewhere';
  if (connection.status === 'closed') return 'closed';
  if (!['live', 'idle', 'connecting'].includes(connection.status)) return 'network';
  if (status === 'error') return 'error';
  if (status !== 'ready' || session.status !== 'ready') return 'answer';
  return after ?? (isQuestionOpen ? 'approval' : null);
}

/** The queued messages, and functions to change the queue. */
export interface SendQueue {
  queue: readonly Draft[];
  add: (draft: Draft) => void;
  /** Adds messages that failed before the page was reloaded, before all others. */
  restore: (drafts: readonly Draft[]) => void;
  remove: (id: string) => void;
  /** Replaces the text of a queued message. */
  change: (id: string, text: string) => void;
  /** Moves a message up by one place. */
  moveUp: (id: string) => void;
  /** Moves a message to the front, and sends it although it cancels an open approval or question. */
  insist: (id: string) => void;
}

/**
 * Queues messages while they cannot be sent, and sends each once, in order, when they can. The queue survives a
 * reload, except without a session.
 */
export function useSendQueue(
  sessionId: string | null,
  held: Hold | null,
  send: (draft: Draft) => void,
): SendQueue {
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
  const restore = useCallback((drafts: readonly Draft[]) => setQueue((all) => [...drafts, ...all]), []);
  const remove = useCallback((id: string) => setQueue((all) => all.filter((one) => one.id !== id)), []);
  const change = useCallback(
    (id: string, text: string) =>
      setQueue((all) => all.map((draft) => (draft.id === id ? { ...draft, text } : draft))),
    [],
  );
  const moveUp = useCallback((id: string) => setQueue((all) => movedUp(all, id)), []);
  const insist = useCallback((id: string) => {
    setQueue((all) => all.toSorted((one, other) => Number(other.id === id) - Number(one.id === id)));
    setInsisted(id);
  }, []);
  return { queue, add, restore, remove, change, moveUp, insist };
}

function movedUp(queue: readonly Draft[], id: string): readonly Draft[] {
  const index = queue.findIndex((draft) => draft.id === id);
  const [before, draft] = [queue[index - 1], queue[index]];
  return before && draft ? queue.with(index - 1, draft).with(index, before) : queue;
}
