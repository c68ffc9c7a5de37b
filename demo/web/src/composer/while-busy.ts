import { useState } from 'react';
import { keep, kept } from '../storage/storage.ts';

/** What happens to a message that is sent while the assistant answers: it is queued, or it interrupts the answer. */
export type WhileBusy = 'queue' | 'interrupt';

const STORED = 'duologue.enter';

/** What Enter does while the assistant answers, as the user chose it. The choice is kept in the browser. */
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
