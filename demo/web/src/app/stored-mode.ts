import type { Mode } from 'duologue/react';
import { useState } from 'react';

const STORED = 'duologue.mode';

/** The way messages travel that the person wants; it is remembered. */
export function useStoredMode(): [Mode, (mode: Mode) => void] {
  const [mode, setMode] = useState<Mode>(() => (localStorage.getItem(STORED) === 'sse' ? 'sse' : 'bidi'));
  return [
    mode,
    (wanted) => {
      localStorage.setItem(STORED, wanted);
      setMode(wanted);
    },
  ];
}
