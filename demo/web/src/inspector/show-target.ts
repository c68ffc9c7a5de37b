import type { Target } from '../wire/inspection.tsx';

/** Whether the conversation shows the message or call. */
export function canShow(target: Target): boolean {
  return elementOf(target) !== null;
}

/** Scrolls to a message or call of the conversation, and highlights it for a moment. */
export function showTarget(target: Target): void {
  const element = elementOf(target);
  element?.scrollIntoView({ block: 'center' });
  element?.animate(
    [
      { outline: '2px solid var(--accent)', outlineOffset: '6px', borderRadius: '12px' },
      { outline: '2px solid transparent', outlineOffset: '6px', borderRadius: '12px' },
    ],
    { duration: 1_600, easing: 'ease-in' },
  );
}

function elementOf(target: Target): Element | null {
  return 'toolCallId' in target
    ? document.querySelector(`[data-call="${CSS.escape(target.toolCallId)}"]`)
    : document.querySelector(`[data-message-id="${CSS.escape(target.messageId)}"]`);
}
