import { type ComponentType, lazy, Suspense, useEffect, useState } from 'react';
import type { Question } from './question.ts';

/** When the dialog cannot be loaded, the browser's own `confirm` asks. */
const Dialog = lazy<ComponentType<Question>>(() =>
  import('./confirm-dialog.tsx').catch(() => ({ default: BrowserDialog })),
);

/** Asks the user to confirm an action that cannot be undone. */
export function Confirm(question: Question) {
  const [wasOpen, setWasOpen] = useState(false);
  if (question.isOpen && !wasOpen) setWasOpen(true);
  return wasOpen ? (
    <Suspense fallback={null}>
      <Dialog {...question} />
    </Suspense>
  ) : null;
}

function BrowserDialog({ title, text, isOpen, onAnswer }: Question) {
  useEffect(() => {
    if (isOpen) onAnswer(window.confirm(`${title}\n\n${text}`));
  }, [isOpen, onAnswer, text, title]);
  return null;
}
