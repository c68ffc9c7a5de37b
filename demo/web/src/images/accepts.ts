import type { SessionInfo } from 'duologue/client';
import { type PictureType, pictureType } from './kind.ts';

/** The files that the server accepts. `types` is null until the server has listed them. */
export interface Accepts {
  types: readonly string[] | null;
  files: number;
  imageBytes: number;
  fileBytes: number;
}

const MB = 1024 * 1024;

/** The files that a server without the option `attachments` accepts. */
export const PICTURES: Accepts = {
  types: ['image/png', 'image/jpeg', 'image/webp'],
  files: 4,
  imageBytes: 5 * MB,
  fileBytes: 10 * MB,
};

const UNKNOWN: Accepts = { ...PICTURES, types: null };

/** The files that the server of a connection accepts. */
export function acceptsOf(info: SessionInfo | undefined): Accepts {
  return info?.attachments ?? UNKNOWN;
}

/** The type of an accepted file: a picture type by its bytes, or another media type. */
export type Kind = { picture: PictureType } | { type: string };

/**
 * Media types by the ending of the name. Browsers know some types only if an office program is installed, and then
 * name them differently.
 */
const BY_NAME: readonly (readonly [RegExp, string])[] = [
  [/\.csv$/i, 'text/csv'],
  [/\.tsv$/i, 'text/tab-separated-values'],
  [/\.(?:md|markdown)$/i, 'text/markdown'],
  [/\.(?:txt|log)$/i, 'text/plain'],
  [/\.json$/i, 'application/json'],
  [/\.ya?ml$/i, 'application/yaml'],
];

/** The type with which a file is sent; null for a file that is not accepted. */
export async function kindOf(file: File, { types }: Accepts): Promise<Kind | null> {
  const picture = pictureType(new Uint8Array(await file.slice(0, 16).arrayBuffer()));
  if (picture) return isListed(picture, types) ? { picture } : null;
  const [, byName] = BY_NAME.find(([pattern]) => pattern.test(file.name)) ?? [];
  const type = byName ?? file.type.toLowerCase().split(';')[0] ?? '';
  if (type === '' || (type.startsWith('image/') && type !== 'image/svg+xml')) return null;
  return isListed(type, types) ? { type } : null;
}

function isListed(type: string, types: readonly string[] | null): boolean {
  return types === null || types.includes(type) || types.includes(`${type.split('/')[0]}/*`);
}

/** Whether only pictures are accepted. */
export function isForPictures({ types }: Accepts): boolean {
  return types?.every((type) => type.startsWith('image/')) ?? false;
}

/** The `accept` attribute of the file input; undefined to accept every file. */
export function chooserTypes({ types }: Accepts): string | undefined {
  if (types === null) return undefined;
  const names = types.includes('text/*') ? ['.txt', '.csv', '.md'] : [];
  return [...types, ...names].join(',');
}
