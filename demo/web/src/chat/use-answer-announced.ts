import type { Message } from 'duologue/protocol';
import { useEffect, useRef } from 'react';
import { useAnnounce } from '../ui/announcer.tsx';

/** Reads an answer to screen readers once, when it is whole: word by word nobody could follow it. */
export function useAnswerAnnounced(isBusy: boolean, last: Message | undefined): void {
  const announce = useAnnounce();
  const wasBusy = useRef(false);
  useEffect(() => {
    const hasEnded = wasBusy.current && !isBusy;
    wasBusy.current = isBusy;
    if (hasEnded && last?.role === 'assistant') announce(shownText(last), false);
  }, [announce, isBusy, last]);
}

/** The words of an answer as they are shown: a screen reader would read out every sign of Markdown. */
function shownText({ id }: Message): string {
  const texts = document.querySelectorAll<HTMLElement>(`[data-message-id="${CSS.escape(id)}"] [data-text]`);
  return [...texts].map((text) => text.innerText).join('\n');
}
