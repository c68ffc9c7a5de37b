import { type RefCallback, type RefObject, useCallback, useEffect, useRef } from 'react';
import { askingCards, goToCard } from './go-to-card.ts';

/** Whether the user is in the middle of writing: then nothing may take the focus away. */
function isWriting(): boolean {
  const active = document.activeElement;
  return (active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement) && active.value !== '';
}

/**
 * Moves the focus to a card when it asks, unless the user is writing or answers another one, and on when it is done:
 * to the next card that asks, else back. The returned ref belongs to what the card shows only while it asks.
 */
export function useFocus(card: RefObject<HTMLElement | null>, isAsking: boolean): RefCallback<HTMLElement> {
  const before = useRef<HTMLElement | null>(null);
  const isLost = useRef(false);
  const question = useCallback((node: HTMLElement | null) => {
    if (!node) return;
    isLost.current = false;
    // The last moment at which what is taken away still has the focus.
    return () => {
      isLost.current = node.contains(document.activeElement);
    };
  }, []);
  useEffect(() => {
    const element = card.current;
    const active = document.activeElement;
    if (!isAsking || !element || isWriting() || active?.closest('[data-asking]')) return;
    before.current = active instanceof HTMLElement && active !== document.body ? active : null;
    goToCard(element);
  }, [card, isAsking]);
  useEffect(() => {
    const active = document.activeElement;
    const isHere = isLost.current ? active === document.body : card.current?.contains(active);
    if (isAsking || !isHere) return;
    const [next] = askingCards();
    const back = before.current?.isConnected ? before.current : null;
    (next ?? back ?? document.querySelector<HTMLElement>('#message'))?.focus();
  }, [card, isAsking]);
  return question;
}
