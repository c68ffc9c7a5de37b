import { useCallback, useEffect, useRef, useState } from 'react';

/** Whether the files of voice that the server downloads on demand are there. */
export type Preparation =
  | { status: 'unknown' }
  | { status: 'absent'; total: number }
  | { status: 'fetching'; bytes: number; total: number }
  | { status: 'ready' }
  | { status: 'failed'; message: string };

/** The result of `prepare`: the files were there already, had to be downloaded first, or could not be downloaded. */
export type Prepared = 'there' | 'fetched' | 'missing';

const LOOK_MS = 400;

/**
 * Asks the server whether its files of voice are there. `prepare` makes the server download missing ones, and waits for the download. A server
 * without this route needs no files.
 */
export function usePreparation(path: string): { now: Preparation; prepare: () => Promise<Prepared> } {
  const [now, setNow] = useState<Preparation>({ status: 'unknown' });
  const isHere = useRef(true);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  const ask = useCallback(
    async (method: string): Promise<Preparation> => {
      const state = await askServer(path, method);
      if (isHere.current) setNow(state);
      return state;
    },
    [path],
  );
  useEffect(() => void ask('GET'), [ask]);
  const prepare = useCallback(async (): Promise<Prepared> => {
    let state = await ask('GET');
    if (state.status === 'ready') return 'there';
    if (state.status === 'absent' || state.status === 'failed') state = await ask('POST');
    while (state.status === 'fetching' && isHere.current) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      state = await ask('GET');
    }
    return state.status === 'ready' ? 'fetched' : 'missing';
  }, [ask]);
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
