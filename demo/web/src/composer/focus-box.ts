/** Puts the focus where one writes, unless a card asks there, or a phone would bring up its keyboard. */
export function focusBox(): void {
  if (matchMedia('(pointer: coarse)').matches || document.activeElement?.closest('[data-asking]')) return;
  document.querySelector<HTMLElement>('#message')?.focus();
}

/** A ref: what is taken away while the focus is in it gives that to the place where one writes. */
export function handFocusOn(node: HTMLElement | null): () => void {
  return () => {
    if (node?.contains(document.activeElement)) focusBox();
  };
}
