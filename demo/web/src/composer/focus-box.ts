/** Puts the focus where one writes, unless a card asks there, or a phone would bring up its keyboard. */
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
