import { X } from 'lucide-react';
import { Dialog } from 'radix-ui';
import { useMessages } from '../i18n/language.tsx';
import { PictureButton, type Shown } from './picture-button.tsx';

/** A picture, and a dialog that shows it at the size of the window. */
export default function LargePicture({ url, alt }: Shown) {
  const messages = useMessages();
  return (
    <Dialog.Root defaultOpen>
      <Dialog.Trigger asChild>
        <PictureButton url={url} alt={alt} />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 flex animate-fade items-center justify-center bg-black/80 p-4 sm:p-10">
          <Dialog.Content aria-describedby={undefined} className="flex max-h-full max-w-full">
            <Dialog.Title className="sr-only">{alt}</Dialog.Title>
            {/* Without a tooltip, which would take the first Escape for itself. */}
            <Dialog.Close
              aria-label={messages.close}
              className="fixed top-4 right-4 flex size-10 items-center justify-center rounded-full bg-black/60 text-white"
            >
              <X className="size-5" aria-hidden="true" />
            </Dialog.Close>
            <img src={url} alt={alt} className="min-w-0 rounded-lg object-contain" />
          </Dialog.Content>
        </Dialog.Overlay>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
