import { type RefObject, useEffect, useRef } from 'react';
import { askingCards, goToCard, isWhollyInView } from './go-to-card.ts';
import { decisionOf } from './shortcuts.ts';

/**
 * Lets the keys of a card decide from anywhere on the page: they belong to the card that has the focus, else to the first
 * that asks. While a dialog is open they do nothing. A card of which the user does not see everything is only brought into
 * view: the next press decides it.
 */
export function useCardKeys(
  card: RefObject<HTMLElement | null>,
  canDecide: boolean,
  decide: (isApproved: boolean) => void,
): void {
  const latest = useRef(decide);
  useEffect(() => {
    latest.current = decide;
  });
  useEffect(() => {
    if (!canDecide) return;
    const listen = (event: KeyboardEvent) => {
      const decision = decisionOf(event);
      // One press decides one card, also when the next one asks before the event is over.
      if (decision === null || event.defaultPrevented || isDialogOpen()) return;
      const element = card.current;
      // On a narrow page a panel may stand over the conversation.
      if (!element || element !== cardOfKeys() || element.closest('[inert]')) return;
      event.preventDefault();
      if (isWhollyInView(element)) latest.current(decision === 'approve');
      else goToCard(element);
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [card, canDecide]);
}

/** The card that the keys decide; styles.css shows their names on that one alone. */
export function cardOfKeys(): Element | null {
  return document.activeElement?.closest('[data-asking]') ?? askingCards()[0] ?? null;
}

function isDialogOpen(): boolean {
  return document.querySelector('[role=dialog], [role=alertdialog]') !== null;
}
