import { type RefObject, useEffect, useRef } from 'react';
import { askingCards, goToCard, isWhollyInView } from './go-to-card.ts';
import { decisionOf } from './shortcuts.ts';

/**
 * Lets keyboard shortcuts decide a card from anywhere on the page: the focused card, or otherwise the first one that
 * asks. They do nothing while a dialog is open. If a part of the card is out of view, the first press only scrolls to
 * the card, and the next press decides.
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
      // The decision can make the next card ask during the same event, which must not decide that card too.
      if (decision === null || event.defaultPrevented || isDialogOpen()) return;
      const element = card.current;
      // On a narrow page a side panel covers the conversation and makes it inert.
      if (!element || element !== cardOfKeys() || element.closest('[inert]')) return;
      event.preventDefault();
      if (isWhollyInView(element)) latest.current(decision === 'approve');
      else goToCard(element);
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [card, canDecide]);
}

/** The card that the keyboard shortcuts decide. styles.css shows the shortcuts on this card only. */
export function cardOfKeys(): Element | null {
  return document.activeElement?.closest('[data-asking]') ?? askingCards()[0] ?? null;
}

function isDialogOpen(): boolean {
  return document.querySelector('[role=dialog], [role=alertdialog]') !== null;
}
