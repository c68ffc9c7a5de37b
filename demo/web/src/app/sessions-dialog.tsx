import { Dialog } from 'radix-ui';
import { useRef } from 'react';
import { focusBox } from '../composer/focus-box.ts';
import { useMessages } from '../i18n/language.tsx';
import type { Drawer } from './drawer.ts';

/** The dialog in which the drawer shows its content. It is loaded when the drawer is opened for the first time. */
export default function SessionsDialog({ isOpen, onOpenChange, children }: Drawer) {
  const { sessions } = useMessages();
  const opener = useRef<HTMLElement | null>(null);
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 animate-fade bg-black/40 lg:hidden" />
        <Dialog.Content
          aria-describedby={undefined}
          onOpenAutoFocus={() => {
            opener.current = document.activeElement as HTMLElement | null;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            // When the user chose another conversation, its header has replaced the button that opened the drawer.
            if (opener.current?.isConnected) opener.current.focus();
            else focusBox();
          }}
          className="fixed inset-y-0 left-0 z-50 w-72 max-w-[85vw] animate-slide border-r border-line bg-canvas shadow-float lg:hidden"
        >
          <Dialog.Title className="sr-only">{sessions.title}</Dialog.Title>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
