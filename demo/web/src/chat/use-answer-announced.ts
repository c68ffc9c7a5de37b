import type { Message } from 'duologue/protocol';
import { useEffect, useRef } from 'react';
import { useAnnounce } from '../ui/announcer.tsx';

/** Announces a message to screen readers once, when it is complete. Announcing each delta would be unintelligible. */
export function useAnswerAnnounced(isBusy: boolean, last: Message | undefined): void {
  const announce = useAnnounce();
  const wasBusy = useRef(false);
  const watching = useRef<MutationObserver>(null);
  useEffect(() => {
    const hasEnded = wasBusy.current && !isBusy;
    wasBusy.current = isBusy;
    if (!hasEnded || last?.role !== 'assistant') return;
    watching.current?.disconnect();
    watching.current = whenShown(last, (text) => announce(text, false));
  }, [announce, isBusy, last]);
  useEffect(() => () => watching.current?.disconnect(), []);
}

/**
 * Calls `then` with the text of a message as the page renders it, since a screen reader would read the characters of
 * Markdown aloud. Waits while the component of the message is being loaded.
 */
function whenShown({ id }: Message, then: (text: string) => void): MutationObserver {
  const look = () => {
    const message = document.querySelector(`[data-message-id="${CSS.escape(id)}"]`);
    if (!message || message.querySelector('[data-unformatted]')) return;
    observer.disconnect();
    const texts = message.querySelectorAll<HTMLElement>('[data-text]');
    then([...texts].map((text) => text.innerText).join('\n'));
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, { childList: true, subtree: true });
  look();
  return observer;
}
