import { useState } from 'react';
import { keep, kept } from '../storage/storage.ts';

/** How readily sound counts as speech in hands-free mode. */
export type Sensitivity = 'low' | 'medium' | 'high';

/** The sensitivity as detectors take it, from 0 to 1. */
export const DEGREES: Readonly<Record<Sensitivity, number>> = { low: 0.2, medium: 0.5, high: 0.8 };

const STORED = 'duologue.sensitivity';

/** The sensitivity that the user chose. The choice is kept in the browser. */
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
