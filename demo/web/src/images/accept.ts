import type { Messages } from '../i18n/en.ts';
import { type PictureType, pictureType } from './kind.ts';
import { shrink } from './shrink.ts';

/** How much a message may hold. */
export const MAX_PICTURES = 4;
const MAX_BYTES = 5 * 1024 * 1024;

/** A picture that is ready to be sent. */
export interface Picture {
  id: string;
  name: string;
  mediaType: string;
  url: string;
}

/** What became of a file: a picture, or a sentence that says why not. */
export type Accepted = { picture: Picture } | { refusal: string };

/** The type of a picture by its bytes; null when the file is none that may be sent. */
export async function typeOf(file: File): Promise<PictureType | null> {
  return pictureType(new Uint8Array(await file.slice(0, 16).arrayBuffer()));
}

/** Makes a picture small, and refuses in plain words what cannot be sent. */
export async function preparePicture(
  file: File,
  { id, name, type }: { id: string; name: string; type: PictureType },
  messages: Messages['pictures'],
): Promise<Accepted> {
  try {
    const small = await shrink(file, type);
    if (small.size > MAX_BYTES) return { refusal: messages.tooLarge(name, '5 MB') };
    return { picture: { id, name, mediaType: small.type, url: await toDataUrl(small) } };
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
