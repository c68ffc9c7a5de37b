import { useEffect, useState } from 'react';

/** Whoever only looks has seen the page by then. */
const LOOK_MS = 3000;
const SIGNS = ['pointermove', 'pointerdown', 'keydown'] as const;

/** True once the person does something, or has looked for a while: what the first picture can do without is fetched then. */
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
