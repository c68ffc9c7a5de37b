import { useEffect, useState } from 'react';

/** After this time the page counts as seen, also without any input of the user. */
const LOOK_MS = 3000;
const SIGNS = ['pointermove', 'pointerdown', 'keydown'] as const;

/**
 * Becomes true at the first input of the user, or after a few seconds. Code that the first paint does not need is
 * loaded then.
 */
export function useLookedAt(): boolean {
  const [isLookedAt, setLookedAt] = useState(false);
  useEffect(() => {
    if (isLookedAt) return;
    const look = () => setLookedAt(true);
    const timer = setTimeout(look, LOOK_MS);
    for (const sign of SIGNS) window.addEventListener(sign, look, { once: true, passive: true });
    return () => {
      clearTimeout(timer);
      for (const sign of SIGNS) window.removeEventListener(sign, look);
    };
  }, [isLookedAt]);
  return isLookedAt;
}
