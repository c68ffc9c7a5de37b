import type { Messages } from '../i18n/en.ts';
import { pictureType } from './kind.ts';
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

/** Reads a file as a picture, makes it small, and refuses in plain words what cannot be sent. */
export async function acceptPicture(file: File, messages: Messages['pictures']): Promise<Accepted> {
  const name = file.name || 'image';
  const type = pictureType(new Uint8Array(await file.slice(0, 16).arrayBuffer()));
  if (type === null) return { refusal: messages.wrongType(name) };
  const small = await shrink(file, type).catch(() => null);
  if (small === null) return { refusal: messages.unreadable(name) };
  if (small.size > MAX_BYTES) return { refusal: messages.tooLarge(name, '5 MB') };
  const url = await toDataUrl(small);
  return { picture: { id: crypto.randomUUID(), name, mediaType: small.type, url } };
}

function toDataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
