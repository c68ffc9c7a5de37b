import type { Messages } from '../i18n/en.ts';
import type { Accepts, Kind } from './accepts.ts';
import { shrink } from './shrink.ts';

/** A picture, or another file, that is ready to be sent. */
export interface Picture {
  id: string;
  name: string;
  mediaType: string;
  url: string;
}

/** The result of preparing a file: a file that can be sent, or the reason why not. */
export type Accepted = { picture: Picture } | { refusal: string };

/**
 * Prepares a file for sending: scales pictures down, reads other files, and refuses what the server does not accept.
 */
export async function prepareFile(
  file: File,
  { id, name, kind }: { id: string; name: string; kind: Kind },
  { imageBytes, fileBytes }: Accepts,
  messages: Messages['pictures'],
): Promise<Accepted> {
  try {
    const isPicture = 'picture' in kind;
    const most = isPicture ? imageBytes : fileBytes;
    const tooLarge = { refusal: messages.tooLarge(name, `${Math.floor(most / 1024 / 1024)} MB`) };
    if (!isPicture && file.size > most) return tooLarge;
    const ready = isPicture ? await shrink(file, kind.picture) : new Blob([file], { type: kind.type });
    if (ready.size > most) return tooLarge;
    if (ready.size === 0) return { refusal: messages.unreadable(name) };
    return { picture: { id, name, mediaType: ready.type, url: await toDataUrl(ready) } };
  } catch {
    return { refusal: messages.unreadable(name) };
  }
}

function toDataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
