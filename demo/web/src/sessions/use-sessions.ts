import type { SessionEntry } from 'duologue/client';
import { ProtocolError } from 'duologue/protocol';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { http } from './http.ts';
import { type Begun, useOtherTabs } from './other-tabs.ts';

/** How often a visible page reloads the list: other devices change it without notifying this page. */
const LOOK_MS = 10_000;
/** The longest title that the server accepts. */
const TITLE_LENGTH = 200;

type Change = { kind: 'rename'; id: string; title: string } | { kind: 'remove'; id: string };

/** The list of conversations, and functions that change it. */
export interface Sessions {
  list: readonly SessionEntry[];
  /** Conversations of the list that the server does not know yet. */
  begun: readonly Begun[];
  /** Whether the list was loaded from the server. */
  isLoaded: boolean;
  /** Whether the server requires a key, so that the user must sign in. */
  isLocked: boolean;
  /** The last change of the user that failed; null when there is none. */
  failure: Change['kind'] | null;
  forgetFailure: () => void;
  /** Loads the list from the server, and makes the other tabs load it too. Called when something has changed on this page. */
  refresh: () => Promise<void>;
  /** Adds a conversation whose first message was sent to the list, before the server lists it. */
  begin: (id: string, title: string) => void;
  rename: (id: string, title: string) => Promise<void>;
  /** Gives a conversation a name that the user did not choose. A failure is not shown. */
  name: (id: string, title: string) => Promise<void>;
  remove: (id: string) => Promise<void>;
}

/**
 * Keeps the list of conversations up to date with the server and the other tabs. A change by the user is shown at once, and
 * undone if the server rejects it.
 */
export function useSessions(): Sessions {
  const [known, setKnown] = useState<readonly SessionEntry[]>([]);
  const [begun, setBegun] = useState<readonly Begun[]>([]);
  const [changes, setChanges] = useState<readonly Change[]>([]);
  const [failure, setFailure] = useState<Sessions['failure']>(null);
  const [isLoaded, setLoaded] = useState(false);
  const [isLocked, setLocked] = useState(false);
  const read = useCallback(async () => {
    try {
      const listed = await http.listSessions();
      setKnown(listed);
      setBegun((all) => all.filter(({ id }) => !listed.some((entry) => entry.id === id)));
      setLoaded(true);
      setLocked(false);
    } catch (error) {
      // Other errors are not shown here: the conversation shows that the server cannot be reached.
      if (error instanceof ProtocolError && error.code === 'unauthorized') setLocked(true);
    }
  }, []);
  const addBegun = useCallback(
    (one: Begun) => setBegun((all) => [one, ...all.filter(({ id }) => id !== one.id)]),
    [],
  );
  const tell = useOtherTabs(read, addBegun);
  useEffect(() => {
    void read();
    const look = () => document.visibilityState === 'visible' && void read();
    document.addEventListener('visibilitychange', look);
    const timer = setInterval(look, LOOK_MS);
    return () => {
      document.removeEventListener('visibilitychange', look);
      clearInterval(timer);
    };
  }, [read]);
  const refresh = useCallback(async () => {
    tell(null);
    await read();
  }, [read, tell]);
  const begin = useCallback(
    (id: string, title: string) => {
      const one = { id, title, at: Date.now() };
      addBegun(one);
      tell(one);
    },
    [addBegun, tell],
  );
  const attempt = useCallback(
    async (change: Change, onFail: (kind: Change['kind']) => void) => {
      setChanges((all) => [...all, change]);
      try {
        await carryOut(change);
        setKnown((all) => changed(all, change));
        if (change.kind === 'remove') setBegun((all) => all.filter(({ id }) => id !== change.id));
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
  const list = useMemo(() => {
    const isKnown = (id: string) => known.some((entry) => entry.id === id);
    const all = [...begun.filter(({ id }) => !isKnown(id)).map(asEntry), ...known];
    return changes.reduce(changed, all);
  }, [begun, changes, known]);
  return { list, begun, isLoaded, isLocked, failure, forgetFailure, refresh, begin, rename, name, remove };
}

function asEntry({ id, title, at }: Begun): SessionEntry {
  return { id, title, createdAt: at, updatedAt: at, isWaiting: false, hasFailed: false };
}

async function carryOut(change: Change): Promise<void> {
  if (change.kind === 'rename') return http.renameSession(change.id, change.title.slice(0, TITLE_LENGTH));
  await http.deleteSession(change.id);
}

function changed(list: readonly SessionEntry[], change: Change): SessionEntry[] {
  if (change.kind === 'remove') return list.filter(({ id }) => id !== change.id);
  return list.map((entry) => (entry.id === change.id ? { ...entry, title: change.title } : entry));
}
