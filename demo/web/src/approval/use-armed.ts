import { useEffect, useState } from 'react';

/** How long the buttons wait, so that a click meant for what was there before decides nothing. */
const ARMING_MS = 300;

/** Whether a card has been there for long enough to take a click. */
export function useArmed(): boolean {
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setArmed(true), ARMING_MS);
    return () => clearTimeout(timer);
  }, []);
  return isArmed;
}
