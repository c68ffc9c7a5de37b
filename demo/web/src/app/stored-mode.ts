import type { Mode } from 'duologue/react';
import { useState } from 'react';
import { keep, kept } from '../storage/storage.ts';

const STORED = 'duologue.mode';

/** The mode (SSE or BIDI) that the user chose. It is kept in the browser. */
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
