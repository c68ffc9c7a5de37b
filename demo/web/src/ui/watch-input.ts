/**
 * Writes to the root element whether the user last used a pointer or the keyboard. Menus and cards move the focus themselves,
 * and the browser would then show a focus ring to users who only use the mouse.
 */
export function watchInput(): void {
  const note = (input: 'pointer' | 'keyboard') => () => {
    document.documentElement.dataset.input = input;
  };
  document.addEventListener('pointerdown', note('pointer'), { capture: true, passive: true });
  document.addEventListener('keydown', note('keyboard'), { capture: true, passive: true });
}
