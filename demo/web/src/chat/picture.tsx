import { X } from 'lucide-react';
import { Dialog } from 'radix-ui';
import { useMessages } from '../i18n/language.tsx';
import { IconButton } from '../ui/icon-button.tsx';

/** A picture of the conversation; a press shows it as large as the screen. */
export function Picture({ url, alt }: { url: string; alt: string }) {
  const messages = useMessages();
  return (
    <Dialog.Root>
      <Dialog.Trigger aria-label={`${messages.pictures.open}: ${alt}`} className="block cursor-zoom-in">
        <img
          src={url}
          alt={alt}
          className="max-h-56 max-w-full rounded-xl border border-line bg-sunken object-contain"
        />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 animate-fade bg-black/80" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed inset-0 z-50 flex items-center justify-center p-4 sm:p-10"
        >
          <Dialog.Title className="sr-only">{alt}</Dialog.Title>
          <Dialog.Close asChild>
            <IconButton
              label={messages.close}
              isRound
              className="absolute top-4 right-4 bg-black/60 text-white"
            >
              <X className="size-5" />
            </IconButton>
          </Dialog.Close>
          <img src={url} alt={alt} className="max-h-full max-w-full rounded-lg object-contain" />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
