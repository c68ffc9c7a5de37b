/**
 * Notes at the root of the page whether a pointer or the keyboard was used last. Menus and cards move the focus themselves,
 * and the browser then shows a ring to people who only used the mouse.
 */
export function watchInput(): void {
  const note = (input: 'pointer' | 'keyboard') => () => {
    document.documentElement.dataset.input = input;
  };
  document.addEventListener('pointerdown', note('pointer'), { capture: true, passive: true });
  document.addEventListener('keydown', note('keyboard'), { capture: true, passive: true });
}
