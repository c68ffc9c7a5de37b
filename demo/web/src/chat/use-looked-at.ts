import { useEffect, useState } from 'react';

/** After this time a user without any input counts as having seen the page. */
const LOOK_MS = 3000;
const SIGNS = ['pointermove', 'pointerdown', 'keydown'] as const;

/** True once the user does something, or has looked for a while: code that the first paint does not need is loaded then. */
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
