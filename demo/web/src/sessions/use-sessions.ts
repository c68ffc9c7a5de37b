import type { SessionEntry } from 'duologue/client';
import { ProtocolError } from 'duologue/protocol';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { http } from './http.ts';

/** What the server takes of a title. */
const TITLE_LENGTH = 200;

type Change = { kind: 'rename'; id: string; title: string } | { kind: 'remove'; id: string };

/** The list of conversations, and what can be done with it. */
export interface Sessions {
  list: readonly SessionEntry[];
  /** Whether the server wants a key first. */
  isLocked: boolean;
  /** What the server did not do, though the person wanted it. */
  failure: Change['kind'] | null;
  forgetFailure: () => void;
  refresh: () => Promise<void>;
  rename: (id: string, title: string) => Promise<void>;
  /** Gives a name that the person did not choose, and would not miss. */
  name: (id: string, title: string) => Promise<void>;
  remove: (id: string) => Promise<void>;
}

/** Keeps the list of conversations. What the person changes is shown at once, and taken back if the server does not do it. */
export function useSessions(): Sessions {
  const [known, setKnown] = useState<readonly SessionEntry[]>([]);
  const [changes, setChanges] = useState<readonly Change[]>([]);
  const [failure, setFailure] = useState<Sessions['failure']>(null);
  const [isLocked, setLocked] = useState(false);
  const refresh = useCallback(async () => {
    try {
      setKnown(await http.listSessions());
      setLocked(false);
    } catch (error) {
      // A server that cannot be reached is told of where it matters: in the conversation.
      if (error instanceof ProtocolError && error.code === 'unauthorized') setLocked(true);
    }
  }, []);
  useEffect(() => {
    void refresh();
  }, [refresh]);
  const attempt = useCallback(
    async (change: Change, onFail: (kind: Change['kind']) => void) => {
      setChanges((all) => [...all, change]);
      try {
        await carryOut(change);
        setKnown((all) => changed(all, change));
      } catch {
        onFail(change.kind);
      }
      setChanges((all) => all.filter((one) => one !== change));
      await refresh();
    },
    [refresh],
  );
  const rename = useCallback(
    (id: string, title: string) => attempt({ kind: 'rename', id, title }, setFailure),
    [attempt],
  );
  const name = useCallback(
    (id: string, title: string) => attempt({ kind: 'rename', id, title }, () => undefined),
    [attempt],
  );
  const remove = useCallback((id: string) => attempt({ kind: 'remove', id }, setFailure), [attempt]);
  const forgetFailure = useCallback(() => setFailure(null), []);
  const list = useMemo(() => changes.reduce(changed, known), [changes, known]);
  return { list, isLocked, failure, forgetFailure, refresh, rename, name, remove };
}

async function carryOut(change: Change): Promise<void> {
  if (change.kind === 'rename') return http.renameSession(change.id, change.title.slice(0, TITLE_LENGTH));
  await http.deleteSession(change.id);
}

function changed(list: readonly SessionEntry[], change: Change): readonly SessionEntry[] {
  if (change.kind === 'remove') return list.filter(({ id }) => id !== change.id);
  return list.map((entry) => (entry.id === change.id ? { ...entry, title: change.title } : entry));
}
