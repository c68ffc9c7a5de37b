/** The cards that wait for a decision, in order. */
export function askingCards(within: ParentNode = document): HTMLElement[] {
  return [...within.querySelectorAll<HTMLElement>('[data-asking]')];
}

/** Scrolls a card wholly into view, the beginning of one that is taller than the conversation, and gives it the focus. */
export function goToCard(card: HTMLElement): void {
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: fits(card) ? 'nearest' : 'start' });
}

/**
 * Whether the user sees all of a card: no part of it lies outside the conversation, and nothing covers it. Of a card that
 * is taller than the conversation, this asks for the sentence that says what is approved.
 */
export function isWhollyInView(card: HTMLElement): boolean {
  const title = document.getElementById(card.getAttribute('aria-labelledby') ?? '');
  const seen = (!fits(card) && title) || card;
  const box = card.closest('[data-conversation]')?.getBoundingClientRect();
  const { top, bottom } = seen.getBoundingClientRect();
  // Edges may lie between two pixels.
  const isInside = box === undefined || (top >= box.top - 1 && bottom <= box.bottom + 1);
  return isInside && !isCovered(seen);
}

/** Whether the conversation has room for a card, with the margin that scrolling leaves around it. */
function fits(card: HTMLElement): boolean {
  const box = card.closest('[data-conversation]');
  if (!box) return true;
  const { scrollMarginTop, scrollMarginBottom } = getComputedStyle(card);
  const margins = (Number.parseFloat(scrollMarginTop) || 0) + (Number.parseFloat(scrollMarginBottom) || 0);
  return card.getBoundingClientRect().height + margins <= box.getBoundingClientRect().height;
}

/** The distance between the points at which a card is checked: less than the size of anything that could cover it. */
const STEP_PX = 16;

/** Whether anything stands over a part of an element; a tooltip does not count, for the pointer brought it there. */
function isCovered(element: HTMLElement): boolean {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  // The corners of a card are round: what shows there is what is behind it.
  for (let x = left + STEP_PX; x < right; x += STEP_PX) {
    for (let y = top + 2; y < bottom; y += STEP_PX) {
      const over = document.elementFromPoint(x, y);
      if (over !== null && !element.contains(over) && !over.closest('[data-tooltip]')) return true;
    }
  }
  return false;
}
