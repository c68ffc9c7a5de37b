import { LoaderCircle, Paperclip, X } from 'lucide-react';
import { useMessages } from '../i18n/language.tsx';
import type { Pictures } from '../images/use-pictures.ts';
import { handFocusOn } from './focus-box.ts';

/**
 * The files of the message that is being written, each with a button to remove it, and the reasons why other files
 * were refused.
 */
export function PictureStrip({ pictures: { places, refusals, remove } }: { pictures: Pictures }) {
  const { composer } = useMessages();
  return (
    <>
      {places.length > 0 ? (
        <ul aria-label={composer.pictures} className="flex flex-wrap gap-3 px-3 pt-3">
          {places.map(({ id, name, picture }) =>
            picture === null ? (
              <li
                key={id}
                className="flex size-16 items-center justify-center rounded-lg border border-line bg-sunken"
              >
                <LoaderCircle className="size-5 animate-spin text-soft" aria-label={composer.preparing} />
              </li>
            ) : (
              <li key={id} className="relative">
                {picture.mediaType.startsWith('image/') ? (
                  <img
                    src={picture.url}
                    alt={name}
                    className="size-16 rounded-lg border border-line object-cover"
                  />
                ) : (
                  <span className="flex h-16 max-w-56 items-center gap-2 rounded-lg border border-line bg-sunken px-3 text-sm">
                    <Paperclip className="size-4 shrink-0 text-soft" aria-hidden="true" />
                    <span className="truncate">{name}</span>
                  </span>
                )}
                <button
                  ref={handFocusOn}
                  type="button"
                  data-dense=""
                  aria-label={composer.removePicture(name)}
                  onClick={() => remove(id)}
                  className="absolute -top-2 -right-2 flex size-6 items-center justify-center rounded-full bg-ink text-canvas shadow-lift"
                >
                  <X className="size-3.5" aria-hidden="true" />
                </button>
              </li>
            ),
          )}
        </ul>
      ) : null}
      {refusals.length > 0 ? (
        <div role="alert" className="px-4 pt-3 text-sm text-bad">
          {refusals.map((refusal) => (
            <p key={refusal}>{refusal}</p>
          ))}
        </div>
      ) : null}
    </>
  );
}
