import type { UseDuologueHelpers } from 'duologue/react';
import { useEffect, useState } from 'react';

/** What became of what the person said: words so far, still to be understood, or no words at all. */
export interface HeardSoFar {
  text: string;
  isBeingUnderstood: boolean;
  isNothing: boolean;
}

const NONE: HeardSoFar = { text: '', isBeingUnderstood: false, isNothing: false };
/** How long a hint stands there, and how long one waits for words. */
const HINT_MS = 5000;
const PATIENCE_MS = 20_000;

/** Follows what the person says until it stands in the conversation. `isSpeaking`: they are at it. */
export function useHeard(live: UseDuologueHelpers['live'], isSpeaking: boolean): HeardSoFar {
  const [heard, setHeard] = useState(NONE);
  const [wasSpeaking, setWasSpeaking] = useState(false);
  if (isSpeaking !== wasSpeaking) {
    setWasSpeaking(isSpeaking);
    setHeard({ ...NONE, isBeingUnderstood: !isSpeaking });
  }
  useEffect(
    () =>
      live.connection.listen((event) => {
        if (event.type !== 'chunk') return;
        const { chunk } = event;
        // Whoever is answered was understood, or told why not.
        if (chunk.type === 'start' || chunk.type === 'data-error') setHeard(NONE);
        if (chunk.type !== 'data-transcript') return;
        const { text, finished } = chunk.data;
        setHeard(finished ? { ...NONE, isNothing: text === '' } : { ...NONE, text });
      }),
    [live],
  );
  const { isBeingUnderstood, isNothing } = heard;
  useEffect(() => {
    if (!isBeingUnderstood && !isNothing) return;
    const timer = setTimeout(() => setHeard(NONE), isNothing ? HINT_MS : PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [isBeingUnderstood, isNothing]);
  return heard;
}
