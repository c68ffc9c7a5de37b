import { type RefObject, useEffect, useRef } from 'react';

/** Whether the person is in the middle of writing: then nothing may take the focus away. */
function isWriting(): boolean {
  const active = document.activeElement;
  return (active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement) && active.value !== '';
}

/** Moves the focus to a card when it asks, unless the person is writing or answers another one, and back when it is done. */
export function useFocus(card: RefObject<HTMLElement | null>, isAsking: boolean): void {
  const before = useRef<HTMLElement | null>(null);
  useEffect(() => {
    const element = card.current;
    const active = document.activeElement;
    if (!isAsking || !element || isWriting() || active?.closest('[data-asking]')) return;
    before.current = active instanceof HTMLElement && active !== document.body ? active : null;
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: 'nearest' });
  }, [card, isAsking]);
  useEffect(() => {
    const element = card.current;
    if (isAsking || !element?.contains(document.activeElement)) return;
    const next = document.querySelector<HTMLElement>('[data-asking]');
    (next ?? before.current ?? document.querySelector<HTMLElement>('#message'))?.focus();
  }, [card, isAsking]);
}
