/** Puts the focus where one writes, unless a card asks there, or a phone would bring up its keyboard. */
export function focusBox(): void {
  if (matchMedia('(pointer: coarse)').matches || document.activeElement?.closest('[data-asking]')) return;
  document.querySelector<HTMLElement>('#message')?.focus();
}
