import { useEffect, useState } from 'react';

/**
 * How long the buttons of a new card ignore clicks. The user may have meant to click on what was there before the
 * card appeared.
 */
const ARMING_MS = 300;

/** Whether the card has been visible long enough to accept clicks. */
export function useArmed(): boolean {
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setArmed(true), ARMING_MS);
    return () => clearTimeout(timer);
  }, []);
  return isArmed;
}
