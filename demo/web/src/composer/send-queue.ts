import type { UseDuologueHelpers } from 'duologue/react';
import { useCallback, useEffect, useState } from 'react';
import type { Draft } from './draft.ts';
import { keepDrafts, keptDrafts } from './kept-drafts.ts';

/** Why nothing can be sent now. */
export type Hold = 'elsewhere' | 'closed' | 'network' | 'answer' | 'error' | 'cut' | 'unsent' | 'approval';

/**
 * Why nothing can be sent now; null when it can. After a failure (`after`) the messages that waited go on waiting until the user
 * says what to do: sends one of them, writes another, tries again, or dismisses the error. One that would cancel an open question waits
 * until that is settled, or the user insists.
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

/** The messages that wait, and what the user can do about them. */
export interface SendQueue {
  queue: readonly Draft[];
  add: (draft: Draft) => void;
  /** Puts messages that failed before the page was loaded in front of the others. */
  restore: (drafts: readonly Draft[]) => void;
  remove: (id: string) => void;
  /** Gives a message that waits other words. */
  change: (id: string, text: string) => void;
  /** Sends a message before the one in front of it. */
  moveUp: (id: string) => void;
  /** Sends a message as the next one, although it cancels an open question. */
  insist: (id: string) => void;
}

/**
 * Keeps what was written while nothing could be sent, also when the page is loaded again, and sends it in order, once
 * each, when it can. Without a session nothing is kept.
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
