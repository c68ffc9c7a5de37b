import { useEffect, useRef } from 'react';
import { isApple } from '../ui/is-apple.ts';

/** The key that is held to talk. */
const KEY = isApple() ? 'Meta' : 'Control';
/** The name of the key, as the page shows it. */
export const KEY_NAME = isApple() ? '⌘' : 'Ctrl';
/** How long the key must be held alone, in milliseconds: in a shortcut, another key follows sooner. */
const ALONE_MS = 250;
/** How long the key must be held where voice is not open: a short press, as in a shortcut, must not open it. */
const OPENING_MS = 700;

/** Push to talk with a key that is held alone. If another key is pressed with it, this is a shortcut and the microphone stays off. */
export function useHoldKey(isOpen: boolean, press: () => void, release: () => void): void {
  const latest = useRef({ press, release });
  useEffect(() => {
    latest.current = { press, release };
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isDown = false;
    const end = () => {
      clearTimeout(timer);
      timer = undefined;
      if (isDown) latest.current.release();
      isDown = false;
    };
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== KEY || event.altKey || event.shiftKey) return end();
      if (event.repeat || timer !== undefined) return;
      timer = setTimeout(
        () => {
          isDown = true;
          latest.current.press();
        },
        isOpen ? ALONE_MS : OPENING_MS,
      );
    };
    const onKeyUp = (event: KeyboardEvent) => {
      if (event.key === KEY) end();
    };
    window.addEventListener('keydown', onKeyDown);
    window.addEventListener('keyup', onKeyUp);
    window.addEventListener('pointerdown', end);
    window.addEventListener('wheel', end, { passive: true });
    window.addEventListener('blur', end);
    return () => {
      end();
      window.removeEventListener('keydown', onKeyDown);
      window.removeEventListener('keyup', onKeyUp);
      window.removeEventListener('pointerdown', end);
      window.removeEventListener('wheel', end);
      window.removeEventListener('blur', end);
    };
  }, [isOpen]);
}
