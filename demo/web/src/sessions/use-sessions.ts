import { useCallback, useEffect, useState } from 'react';
import { deleteSession, listSessions, Refusal, renameSession, type SessionEntry } from './api.ts';

/** The list of conversations, and what can be done with it. */
export interface Sessions {
  list: readonly SessionEntry[];
  /** Whether the server wants a key first. */
  isLocked: boolean;
  refresh: () => Promise<void>;
  rename: (id: string, title: string) => Promise<void>;
  remove: (id: string) => Promise<void>;
}

/** Keeps the list of conversations. */
export function useSessions(): Sessions {
  const [list, setList] = useState<readonly SessionEntry[]>([]);
  const [isLocked, setLocked] = useState(false);
  const refresh = useCallback(async () => {
    try {
      setList(await listSessions());
      setLocked(false);
    } catch (error) {
      // A server that cannot be reached is told of where it matters: in the conversation.
      if (error instanceof Refusal && error.status === 401) setLocked(true);
    }
  }, []);
  useEffect(() => {
    void refresh();
  }, [refresh]);
  const rename = useCallback(
    async (id: string, title: string) => {
      setList((all) => all.map((entry) => (entry.id === id ? { ...entry, title } : entry)));
      await renameSession(id, title).catch(() => undefined);
      await refresh();
    },
    [refresh],
  );
  const remove = useCallback(
    async (id: string) => {
      setList((all) => all.filter((entry) => entry.id !== id));
      await deleteSession(id).catch(() => undefined);
      await refresh();
    },
    [refresh],
  );
  return { list, isLocked, refresh, rename, remove };
}
