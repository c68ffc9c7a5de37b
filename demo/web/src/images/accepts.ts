import type { SessionInfo } from 'duologue/client';
import { type PictureType, pictureType } from './kind.ts';

/** The files that a message may have. `types` is null until the server has listed them: then it decides. */
export interface Accepts {
  types: readonly string[] | null;
  files: number;
  imageBytes: number;
  fileBytes: number;
}

const MB = 1024 * 1024;

/** What every server takes. */
export const PICTURES: Accepts = {
  types: ['image/png', 'image/jpeg', 'image/webp'],
  files: 4,
  imageBytes: 5 * MB,
  fileBytes: 10 * MB,
};

const UNKNOWN: Accepts = { ...PICTURES, types: null };

/** What the server of a connection takes; unknown before it has said so. */
export function acceptsOf(info: SessionInfo | undefined): Accepts {
  return info?.attachments ?? UNKNOWN;
}

/** A file that may be sent: a picture by its bytes, or a file of another type. */
export type Kind = { picture: PictureType } | { type: string };

/** The types of files by their names: browsers know some of them only when an office program is installed, and then by another type. */
const BY_NAME: readonly (readonly [RegExp, string])[] = [
  [/\.csv$/i, 'text/csv'],
  [/\.tsv$/i, 'text/tab-separated-values'],
  [/\.(?:md|markdown)$/i, 'text/markdown'],
  [/\.(?:txt|log)$/i, 'text/plain'],
  [/\.json$/i, 'application/json'],
  [/\.ya?ml$/i, 'application/yaml'],
];

/** What a file is sent as; null when it is none that may be sent. */
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

/** Whether nothing but pictures may be sent. */
export function isForPictures({ types }: Accepts): boolean {
  return types?.every((type) => type.startsWith('image/')) ?? false;
}

/** The types for the dialog that chooses files; undefined for all. */
export function chooserTypes({ types }: Accepts): string | undefined {
  if (types === null) return undefined;
  const names = types.includes('text/*') ? ['.txt', '.csv', '.md'] : [];
  return [...types, ...names].join(',');
}
