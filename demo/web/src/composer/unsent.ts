import type { Message } from 'duologue/protocol';
import { useCallback, useEffect, useState } from 'react';
import { filesOf, textOf } from '../chat/message-text.ts';
import type { Draft } from './draft.ts';
import { keepDrafts, keptDrafts } from './kept-drafts.ts';

/** The messages whose sending failed on this page. */
export interface Unsent {
  /** Whether sending a message failed and the message has no answer. */
  has: (id: string) => boolean;
  forget: (id: string) => void;
}

/**
 * Keeps the messages whose sending failed, for as long as the tab lives. After a reload, gives those that the server
 * does not have to `restore`.
 */
export function useUnsent(
  sessionId: string | null,
  {
    messages,
    error,
    isLoaded,
  }: { messages: readonly Message[]; error: Error | undefined; isLoaded: boolean },
  restore: (drafts: readonly Draft[]) => void,
): Unsent {
  const place = sessionId === null ? null : `${sessionId}.failed`;
  const [failed, setFailed] = useState<readonly Draft[]>(() => keptDrafts(place));
  const [isRestored, setRestored] = useState(false);
  const last = messages.at(-1);
  useEffect(() => {
    if (!error || last?.role !== 'user') return;
    setFailed((all) => (all.some(({ id }) => id === last.id) ? all : [...all, draftOf(last)]));
  }, [error, last]);
  useEffect(() => keepDrafts(place, failed), [place, failed]);
  useEffect(() => {
    if (!isLoaded || isRestored) return;
    setRestored(true);
    const missing = failed.filter(({ id }) => !messages.some((message) => message.id === id));
    if (missing.length === 0) return;
    setFailed((all) => all.filter((draft) => !missing.includes(draft)));
    restore(missing);
  }, [isLoaded, isRestored, failed, messages, restore]);
  const forget = useCallback((id: string) => setFailed((all) => all.filter((one) => one.id !== id)), []);
  const has = (id: string) =>
    failed.some((draft) => draft.id === id) &&
    messages[messages.findIndex((message) => message.id === id) + 1]?.role !== 'assistant';
  return { has, forget };
}

/** A draft with the text and files of a message, for sending it again. */
export function draftOf(message: Message): Draft {
  const pictures = filesOf(message).map(({ url, mediaType, filename = '' }, index) => ({
    id: String(index),
    name: filename,
    mediaType,
    url,
  }));
  return { id: message.id, text: textOf(message), pictures };
}
