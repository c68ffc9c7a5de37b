import { AlertDialog } from 'radix-ui';
import { useRef } from 'react';
import { focusBox } from '../composer/focus-box.ts';
import { useMessages } from '../i18n/language.tsx';
import { Button } from './button.tsx';
import type { Question } from './question.ts';

/** The dialog that asks the question. */
export default function ConfirmDialog({ title, text, action, isOpen, opener, onAnswer }: Question) {
  const messages = useMessages();
  const before = useRef<Element | null>(null);
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onAnswer(false)}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="fixed inset-0 z-40 animate-fade bg-black/40" />
        <AlertDialog.Content
          onOpenAutoFocus={() => {
            before.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            const asked = opener?.() ?? before.current;
            // The element that opened the dialog may have been removed before the answer.
            if (asked instanceof HTMLElement && asked.isConnected && asked !== document.body) asked.focus();
            else focusBox();
          }}
          className="fixed inset-x-4 top-1/2 z-50 mx-auto max-w-md -translate-y-1/2 animate-fade rounded-2xl border border-line bg-surface p-6 shadow-float"
        >
          <AlertDialog.Title className="text-lg font-semibold">{title}</AlertDialog.Title>
          <AlertDialog.Description className="mt-2 text-sm text-soft">{text}</AlertDialog.Description>
          <div className="mt-6 flex flex-wrap justify-end gap-3">
            <AlertDialog.Cancel asChild>
              <Button>{messages.cancel}</Button>
            </AlertDialog.Cancel>
            <AlertDialog.Action asChild>
              <Button look="danger" onClick={() => onAnswer(true)}>
                {action}
              </Button>
            </AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
