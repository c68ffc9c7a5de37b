import type { UseDuologueHelpers, UseDuologueOptions } from 'duologue/react';
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import type { ReplayPlayer } from '../replay/player.ts';
import { WireRecorder } from './recorder.ts';
import { tapFetch, tapSocket } from './tap.ts';

interface Wire {
  recorder: WireRecorder;
  fetch: typeof fetch;
  WebSocket: NonNullable<UseDuologueOptions['WebSocket']>;
  /** The replay that the page shows instead of the live conversation; null when there is none. */
  replay: ReplayPlayer | null;
  showReplay: (player: ReplayPlayer | null) => void;
  /** The conversation on the page, for the panels beside it. */
  chat: { readonly current: UseDuologueHelpers | null };
  hold: (chat: UseDuologueHelpers | null) => void;
}

const Context = createContext<Wire | null>(null);

/** Wraps the conversation: records everything that it sends and receives, and can replay it. */
export function WireProvider({ children }: { children: ReactNode }) {
  const [tapped] = useState(() => {
    const recorder = new WireRecorder();
    return {
      recorder,
      fetch: tapFetch(recorder, (input, init) => fetch(input, init)),
      WebSocket: tapSocket(recorder, WebSocket) as Wire['WebSocket'],
    };
  });
  const [replay, setReplay] = useState<ReplayPlayer | null>(null);
  const chat = useRef<UseDuologueHelpers>(null);
  const hold = useCallback((held: UseDuologueHelpers | null) => {
    chat.current = held;
  }, []);
  const showReplay = useCallback((player: ReplayPlayer | null) => {
    setReplay((before) => {
      before?.stop();
      return player;
    });
  }, []);
  const wire = useMemo(
    () => ({ ...tapped, replay, showReplay, chat, hold }),
    [tapped, replay, showReplay, hold],
  );
  return <Context value={wire}>{children}</Context>;
}

/** The recorder of the page, its recording `fetch` and `WebSocket`, and the replay. */
export function useWire(): Wire {
  const wire = useContext(Context);
  if (!wire) throw new Error('useWire must be called below a WireProvider.');
  return wire;
}

/** The options of the conversation with a `fetch` and a `WebSocket` that record everything, or with those of the replay. */
export function useWireOptions(options: UseDuologueOptions): UseDuologueOptions {
  const { replay, fetch, WebSocket } = useWire();
  const mode = useSyncExternalStore(
    replay?.subscribe ?? never,
    () => replay?.mode ?? null,
    () => null,
  );
  if (!replay || mode === null) return { ...options, fetch, WebSocket };
  return { ...options, ...replay.options(Object.keys(options.tools ?? {})), mode };
}

/** Gives the panels access to the conversation, and lets a replay act in it. */
export function useWireChat(chat: UseDuologueHelpers): void {
  const { hold, replay } = useWire();
  useEffect(() => {
    hold(chat);
    replay?.act(chat);
  });
  useEffect(() => () => hold(null), [hold]);
}

const never = () => () => undefined;
