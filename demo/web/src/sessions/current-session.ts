import { useCallback, useEffect, useState } from 'react';

const PARAMETER = 'session';

/** The conversation that the page shows. */
export interface CurrentSession {
  id: string;
  /** Whether it has no message yet, so that the server does not know it. */
  isNew: boolean;
  open: (id: string) => void;
  startNew: () => void;
  /** Shows a new conversation instead of one that is being deleted, also in the browser's history. */
  leave: () => void;
  /** Writes the conversation into the address of the page. Called when it has its first message. */
  keep: () => void;
}

/** The conversation that the address names, or a new one. */
export function useCurrentSession(): CurrentSession {
  const [current, setCurrent] = useState(fromAddress);
  useEffect(() => {
    const onReturn = () => setCurrent(fromAddress());
    window.addEventListener('popstate', onReturn);
    return () => window.removeEventListener('popstate', onReturn);
  }, []);
  const open = useCallback((id: string) => {
    history.pushState(null, '', addressOf(id));
    setCurrent({ id, isNew: false });
  }, []);
  const startNew = useCallback(() => {
    history.pushState(null, '', addressOf(null));
    setCurrent(newSession());
  }, []);
  const leave = useCallback(() => {
    history.replaceState(null, '', addressOf(null));
    setCurrent(newSession());
  }, []);
  const { id, isNew } = current;
  const keep = useCallback(() => {
    if (new URLSearchParams(location.search).get(PARAMETER) !== id)
      history.replaceState(null, '', addressOf(id));
    setCurrent((before) => (before.id === id && before.isNew ? { id, isNew: false } : before));
  }, [id]);
  return { id, isNew, open, startNew, leave, keep };
}

function fromAddress(): { id: string; isNew: boolean } {
  const id = new URLSearchParams(location.search).get(PARAMETER);
  return id ? { id, isNew: false } : newSession();
}

function newSession(): { id: string; isNew: boolean } {
  return { id: `chat_${crypto.randomUUID()}`, isNew: true };
}

function addressOf(id: string | null): string {
  const url = new URL(location.href);
  if (id === null) url.searchParams.delete(PARAMETER);
  else url.searchParams.set(PARAMETER, id);
  return url.pathname + url.search;
}
