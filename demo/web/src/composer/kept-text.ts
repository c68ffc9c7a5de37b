import { useEffect, useRef, useState } from 'react';

const keyOf = (sessionId: string | null) => `duologue.text.${sessionId ?? 'new'}`;

/**
 * The text in the box of a session, kept for as long as the tab lives. What stands in a conversation that has not begun
 * (null) waits for the next one, or goes with it when it begins.
 */
export function useKeptText(sessionId: string | null): [string, (text: string) => void] {
  const key = keyOf(sessionId);
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '');
  const last = useRef(key);
  useEffect(() => {
    if (last.current !== key) sessionStorage.removeItem(last.current);
    last.current = key;
    keep(key, text);
  }, [key, text]);
  return [text, setText];
}

function keep(key: string, text: string): void {
  if (text === '') return sessionStorage.removeItem(key);
  try {
    sessionStorage.setItem(key, text);
  } catch {
    // There is no room: an old text must not come back in place of this one.
    sessionStorage.removeItem(key);
  }
}
