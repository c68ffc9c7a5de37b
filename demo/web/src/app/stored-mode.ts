import type { Mode } from 'duologue/react';
import { useState } from 'react';
import { keep, kept } from '../storage/storage.ts';

const STORED = 'duologue.mode';

/** The way messages travel that the user wants; it is remembered. */
export function useStoredMode(): [Mode, (mode: Mode) => void] {
  const [mode, setMode] = useState<Mode>(() => (kept('localStorage', STORED) === 'sse' ? 'sse' : 'bidi'));
  return [
    mode,
    (wanted) => {
      keep('localStorage', STORED, wanted);
      setMode(wanted);
    },
  ];
}
