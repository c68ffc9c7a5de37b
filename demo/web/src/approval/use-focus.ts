import { type RefCallback, type RefObject, useCallback, useEffect, useRef } from 'react';
import { askingCards, goToCard } from './go-to-card.ts';

/** Whether the user is writing. Then the focus must stay where it is. */
function isWriting(): boolean {
  const active = document.activeElement;
  return (active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement) && active.value !== '';
}

/**
 * Focuses a card when it asks, unless the user is writing or the focus is in another card that asks. When this card
 * has been answered, moves the focus to the next card that asks, or back to the element that had it before. Attach
 * the returned ref to the element that exists only while the card asks.
 */
export function useFocus(card: RefObject<HTMLElement | null>, isAsking: boolean): RefCallback<HTMLElement> {
  const before = useRef<HTMLElement | null>(null);
  const isLost = useRef(false);
  const question = useCallback((node: HTMLElement | null) => {
    if (!node) return;
    isLost.current = false;
    // React calls this before it removes the element, so the focus is still inside.
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
