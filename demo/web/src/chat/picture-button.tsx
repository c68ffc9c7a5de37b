import type { ComponentProps } from 'react';
import { useMessages } from '../i18n/language.tsx';

/** A picture of the conversation. */
export interface Shown {
  url: string;
  alt: string;
}

/** A button that shows a picture. */
export function PictureButton({ url, alt, ...rest }: Shown & ComponentProps<'button'>) {
  const { pictures } = useMessages();
  return (
    <button type="button" {...rest} aria-label={`${pictures.open}: ${alt}`} className="block cursor-zoom-in">
      <img
        src={url}
        alt={alt}
        className="max-h-56 min-h-10 min-w-10 max-w-full rounded-xl border border-line bg-sunken object-contain"
      />
    </button>
  );
}
