import { useCallback, useEffect, useRef, useState } from 'react';

/** Whether a part of voice that the server fetches on demand is there. */
export type Preparation =
  | { status: 'unknown' }
  | { status: 'absent'; total: number }
  | { status: 'fetching'; bytes: number; total: number }
  | { status: 'ready' }
  | { status: 'failed'; message: string };

const LOOK_MS = 400;

/** Looks whether a part of voice is there; `prepare` has the server fetch it, once, and follows how far it is. A server without that needs none. */
export function usePreparation(path: string): { now: Preparation; prepare: () => Promise<boolean> } {
  const [now, setNow] = useState<Preparation>({ status: 'unknown' });
  const isHere = useRef(true);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  const follow = useCallback(
    async (isFetched: boolean) => {
      const ask = async (method: string): Promise<Preparation> => {
        const state = await askServer(path, method);
        if (isHere.current) setNow(state);
        return state;
      };
      let state = await ask('GET');
      if (!isFetched) return state.status === 'ready';
      if (state.status === 'absent' || state.status === 'failed') state = await ask('POST');
      while (state.status === 'fetching' && isHere.current) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        state = await ask('GET');
      }
      return state.status === 'ready';
    },
    [path],
  );
  useEffect(() => void follow(false), [follow]);
  const prepare = useCallback(() => follow(true), [follow]);
  return { now, prepare };
}

async function askServer(path: string, method: string): Promise<Preparation> {
  try {
    const response = await fetch(path, { method });
    const isJson = response.headers.get('content-type')?.includes('json');
    if (!response.ok || !isJson) return { status: 'ready' };
    return (await response.json()) as Preparation;
  } catch (error) {
    return { status: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}
