import { type RefCallback, useCallback, useState } from 'react';
import { askingCards } from './go-to-card.ts';

/** The part of the list at its top and bottom in which a card does not count as visible. */
const MARGIN = '-48px 0px';

/** The cards that wait for the user and are out of view, and whether others that wait are in view. Attach `around` to the scrolling element. */
export function useUnseenCards(): {
  around: RefCallback<HTMLElement>;
  unseen: readonly HTMLElement[];
  isMore: boolean;
} {
  const [unseen, setUnseen] = useState<readonly HTMLElement[]>([]);
  const [isMore, setMore] = useState(false);
  const around = useCallback((node: HTMLElement | null) => {
    if (!node) return;
    const seen = new Map<Element, boolean>();
    const tell = () => {
      const cards = askingCards(node);
      setMore(cards.some((card) => seen.get(card) === true));
      setUnseen((before) => {
        const now = cards.filter((card) => seen.get(card) === false);
        const isSame = now.length === before.length && now.every((card, index) => card === before[index]);
        return isSame ? before : now;
      });
    };
    const sight = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) seen.set(target, isIntersecting);
        tell();
      },
      { root: node, rootMargin: MARGIN },
    );
    const find = () => {
      for (const card of askingCards(node)) if (!seen.has(card)) sight.observe(card);
      tell();
    };
    const changes = new MutationObserver(find);
    changes.observe(node, { subtree: true, childList: true, attributeFilter: ['data-asking'] });
    find();
    return () => {
      changes.disconnect();
      sight.disconnect();
    };
  }, []);
  return { around, unseen, isMore };
}
