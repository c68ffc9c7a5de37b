import { useEffect } from 'react';
import { askingCards, goToCard } from './go-to-card.ts';
import { decisionOf } from './shortcuts.ts';

/** From elsewhere on the page the keys of a card only lead to it: the first press never decides. */
export function useGoToCard(): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (decisionOf(event) === null || (event.target as Element).closest?.('[data-asking]')) return;
      const [card] = askingCards();
      if (!card) return;
      event.preventDefault();
      goToCard(card);
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
}
