import { useState } from 'react';
import { keep, kept } from '../storage/storage.ts';

/** What a message does that is sent while an answer is being given: it waits, or interrupts. */
export type WhileBusy = 'queue' | 'interrupt';

const STORED = 'duologue.enter';

/** What Enter does while an answer is being given, as the user wants it; it is remembered. */
export function useWhileBusy(): [WhileBusy, (wanted: WhileBusy) => void] {
  const [whileBusy, setWhileBusy] = useState<WhileBusy>(() =>
    kept('localStorage', STORED) === 'interrupt' ? 'interrupt' : 'queue',
  );
  return [
    whileBusy,
    (wanted) => {
      keep('localStorage', STORED, wanted);
      setWhileBusy(wanted);
    },
  ];
}
