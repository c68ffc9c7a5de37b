import { useEffect, useRef, useState } from 'react';
import { forget, keep, kept } from '../storage/storage.ts';

const keyOf = (sessionId: string | null) => `duologue.text.${sessionId ?? 'new'}`;

/**
 * The text in the message box of a session, stored for as long as the tab lives. The text of a conversation that has
 * not begun (null) moves to its session when the conversation begins, and is otherwise kept for the next new one.
 */
export function useKeptText(sessionId: string | null): [string, (text: string) => void] {
  const key = keyOf(sessionId);
  const [text, setText] = useState(() => kept('sessionStorage', key) ?? '');
  const last = useRef(key);
  useEffect(() => {
    if (last.current !== key) forget('sessionStorage', last.current);
    last.current = key;
    keepText(key, text);
  }, [key, text]);
  return [text, setText];
}

function keepText(key: string, text: string): void {
  // If the new text does not fit into the storage, the old one is removed, so that it does not come back after a
  // reload.
  if (text === '' || !keep('sessionStorage', key, text)) forget('sessionStorage', key);
}
