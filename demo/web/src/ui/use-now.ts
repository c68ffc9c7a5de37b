import { useEffect, useState } from 'react';

/** The current time, updated at an interval while it is needed. */
export function useNow(isWanted: boolean, everyMs = 250): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    // Updated once more at the end, so that the last value is not older than the end.
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
