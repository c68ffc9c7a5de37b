/** The cards that wait for a decision, in order. */
export function askingCards(within: ParentNode = document): HTMLElement[] {
  return [...within.querySelectorAll<HTMLElement>('[data-asking]')];
}

/** Shows a card and gives it the focus. */
export function goToCard(card: HTMLElement): void {
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: 'nearest' });
}

/** Whether any of a card can be seen in the conversation. */
export function isInSight(card: HTMLElement): boolean {
  const box = card.closest('[data-conversation]')?.getBoundingClientRect();
  const { top, bottom } = card.getBoundingClientRect();
  return box === undefined || (bottom > box.top && top < box.bottom);
}
