import type { UseDuologueHelpers } from 'duologue/react';
import { useEffect, useState } from 'react';

/** The state of the user's speech: interim words, transcription pending, or no words recognised. */
export interface HeardSoFar {
  text: string;
  isBeingUnderstood: boolean;
  isNothing: boolean;
}

const NONE: HeardSoFar = { text: '', isBeingUnderstood: false, isNothing: false };
/** How long a hint is shown, and how long the page waits for a transcript. */
const HINT_MS = 5000;
const TIMEOUT_MS = 20_000;

/** Follows the user's speech until its transcript is in the conversation. `isSpeaking`: the user is speaking. */
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
        // An answer means that the speech was transcribed, or that an error was shown.
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
    const timer = setTimeout(() => setHeard(NONE), isNothing ? HINT_MS : TIMEOUT_MS);
    return () => clearTimeout(timer);
  }, [isBeingUnderstood, isNothing]);
  return heard;
}
