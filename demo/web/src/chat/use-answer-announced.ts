import type { Message } from 'duologue/protocol';
import { useEffect, useRef } from 'react';
import { useAnnounce } from '../ui/announcer.tsx';
import { textOf } from './message-text.ts';

/** Reads an answer to screen readers once, when it is whole: word by word nobody could follow it. */
export function useAnswerAnnounced(isBusy: boolean, last: Message | undefined): void {
  const announce = useAnnounce();
  const wasBusy = useRef(false);
  useEffect(() => {
    const hasEnded = wasBusy.current && !isBusy;
    wasBusy.current = isBusy;
    if (hasEnded && last?.role === 'assistant') announce(textOf(last), false);
  }, [announce, isBusy, last]);
}
