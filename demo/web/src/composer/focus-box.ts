/** Focuses the message box, unless the focus is in a card that asks, or the device would open an on-screen keyboard. */
export function focusBox(): void {
  if (matchMedia('(pointer: coarse)').matches || document.activeElement?.closest('[data-asking]')) return;
  document.querySelector<HTMLElement>('#message')?.focus();
}

/** A ref for an element: when the element is removed while it has the focus, the message box gets the focus. */
export function handFocusOn(node: HTMLElement | null): () => void {
  return () => {
    if (node?.contains(document.activeElement)) focusBox();
  };
}
