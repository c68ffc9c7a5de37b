import { useState } from 'react';
import { keep, kept } from '../storage/storage.ts';

/** How readily sound counts as speech, hands-free. */
export type Sensitivity = 'low' | 'medium' | 'high';

/** From 0 to 1, as detectors want it. */
export const DEGREES: Readonly<Record<Sensitivity, number>> = { low: 0.2, medium: 0.5, high: 0.8 };

const STORED = 'duologue.sensitivity';

/** How readily sound counts as speech, as the user wants it; it is remembered. */
export function useSensitivity(): [Sensitivity, (wanted: Sensitivity) => void] {
  const [sensitivity, setSensitivity] = useState<Sensitivity>(() => {
    const stored = kept('localStorage', STORED);
    return stored === 'low' || stored === 'high' ? stored : 'medium';
  });
  return [
    sensitivity,
    (wanted) => {
      keep('localStorage', STORED, wanted);
      setSensitivity(wanted);
    },
  ];
}
