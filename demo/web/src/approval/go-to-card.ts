/** The cards that wait for the user, in the order of the page. */
export function askingCards(within: ParentNode = document): HTMLElement[] {
  return [...within.querySelectorAll<HTMLElement>('[data-asking]')];
}

/**
 * Focuses a card, and scrolls until all of it is visible; of a card that is taller than the conversation, until its
 * beginning is.
 */
export function goToCard(card: HTMLElement): void {
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: fits(card) ? 'nearest' : 'start' });
}

/**
 * Whether all of a card is visible: no part is outside the conversation, and nothing covers it. Of a card that is
 * taller than the conversation, only the sentence that says what is approved has to be visible.
 */
export function isWhollyInView(card: HTMLElement): boolean {
  const title = document.getElementById(card.getAttribute('aria-labelledby') ?? '');
  const seen = (!fits(card) && title) || card;
  const box = card.closest('[data-conversation]')?.getBoundingClientRect();
  const { top, bottom } = seen.getBoundingClientRect();
  // Edges may be at fractions of a pixel.
  const isInside = box === undefined || (top >= box.top - 1 && bottom <= box.bottom + 1);
  return isInside && !isCovered(seen);
}

/** Whether a card with its scroll margins is at most as tall as the visible part of the conversation. */
function fits(card: HTMLElement): boolean {
  const box = card.closest('[data-conversation]');
  if (!box) return true;
  const { scrollMarginTop, scrollMarginBottom } = getComputedStyle(card);
  const margins = (Number.parseFloat(scrollMarginTop) || 0) + (Number.parseFloat(scrollMarginBottom) || 0);
  return card.getBoundingClientRect().height + margins <= box.getBoundingClientRect().height;
}

/**
 * The distance between the points at which `isCovered` looks for other elements. Everything that can cover a card is
 * larger.
 */
const STEP_PX = 16;

/**
 * Whether another element covers a part of this one. Tooltips are ignored, because they appear where the pointer is.
 */
function isCovered(element: HTMLElement): boolean {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  // Starts beside the corners: they are round, so the element there is the one below the card.
  for (let x = left + STEP_PX; x < right; x += STEP_PX) {
    for (let y = top + 2; y < bottom; y += STEP_PX) {
      const over = document.elementFromPoint(x, y);
      if (over !== null && !element.contains(over) && !over.closest('[data-tooltip]')) return true;
    }
  }
  return false;
}
