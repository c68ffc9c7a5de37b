import { useEffect, useRef, useState } from 'react';
import { forget, keep, kept } from '../storage/storage.ts';

const keyOf = (sessionId: string | null) => `duologue.text.${sessionId ?? 'new'}`;

/**
 * The text in the box of a session, kept for as long as the tab lives. What stands in a conversation that has not begun
 * (null) waits for the next one, or goes with it when it begins.
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
  // When there is no room, an old text must not come back in place of this one.
  if (text === '' || !keep('sessionStorage', key, text)) forget('sessionStorage', key);
}
