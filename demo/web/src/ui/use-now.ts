import { useEffect, useState } from 'react';

/** The time, told again every so often while someone wants to know. */
export function useNow(isWanted: boolean, everyMs = 250): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    // Also when it is wanted no longer: the last word must not be one from before the end.
    setNow(Date.now());
    if (!isWanted) return;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [isWanted, everyMs]);
  return now;
}

/** Whole seconds from now to a moment, never below zero. */
export function secondsUntil(moment: number, now: number): number {
  return Math.max(0, Math.ceil((moment - now) / 1000));
}
