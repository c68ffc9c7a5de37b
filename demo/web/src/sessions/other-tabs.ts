import { useCallback, useEffect, useRef } from 'react';

/** A conversation that the server may not know yet: it was begun on this page or in another tab. */
export interface Begun {
  id: string;
  title: string;
  at: number;
}

const CHANNEL = 'duologue.sessions';

/**
 * Listens to the other tabs of this browser: conversations have changed, or a new one was begun. The returned function
 * notifies the other tabs.
 */
export function useOtherTabs(
  onChange: () => void,
  onBegun: (begun: Begun) => void,
): (begun: Begun | null) => void {
  const channel = useRef<BroadcastChannel | null>(null);
  useEffect(() => {
    const opened = new BroadcastChannel(CHANNEL);
    channel.current = opened;
    opened.onmessage = ({ data }: MessageEvent<Begun | null>) => (data === null ? onChange() : onBegun(data));
    return () => {
      opened.close();
      channel.current = null;
    };
  }, [onChange, onBegun]);
  return useCallback((begun: Begun | null) => channel.current?.postMessage(begun), []);
}
