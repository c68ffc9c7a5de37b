/** The media types of files that users may attach unless the option `attachments` says otherwise. */
export const DEFAULT_ATTACHMENTS: readonly string[] = ['image/png', 'image/jpeg', 'image/webp'];

/** The types of pictures that are recognised by their bytes. */
export const PICTURE_TYPES: readonly string[] = [...DEFAULT_ATTACHMENTS, 'image/gif'];

/** An entry of the option `attachments`: a media type, or all types of a kind (`text/*`). */
const ENTRY = /^[a-z0-9][\w.+-]*\/(?:\*|[a-z0-9][\w.+-]*)$/;

/** Whether a value can be an entry of the option `attachments`. */
export function isTypeEntry(value: unknown): boolean {
  return typeof value === 'string' && ENTRY.test(value);
}

/** Whether a media type, or its kind (`text/*`), is in a list of entries of the option `attachments`. */
export function isListed(type: string, entries: readonly string[]): boolean {
  return ENTRY.test(type) && (entries.includes(type) || entries.includes(`${type.split('/')[0]}/*`));
}

/** Returns a media type in lower case and without parameters. */
export function bareType(mediaType: string): string {
  return (mediaType.split(';')[0] ?? '').trim().toLowerCase();
}

type Test = (bytes: Uint8Array) => boolean;

/** Makes a test of whether bytes have a text (in Latin-1) at an index. */
const at =
  (place: number, text: string): Test =>
  (bytes) =>
    bytes.length >= place + text.length &&
    Array.from(text).every((character, index) => bytes[place + index] === character.charCodeAt(0));

const all =
  (...tests: Test[]): Test =>
  (bytes) =>
    tests.every((test) => test(bytes));
const any =
  (...tests: Test[]): Test =>
  (bytes) =>
    tests.some((test) => test(bytes));

/** MPEG audio, and the ADTS frames of AAC, begin with eleven bits that are set. */
const isMpegFrame: Test = (bytes) => bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe0) === 0xe0;

/** The header of a PDF may begin anywhere in the first kilobyte. */
const isPdf: Test = (bytes) => Buffer.from(bytes.subarray(0, 1024)).includes('%PDF-');

const riff = (kind: string): Test => all(at(0, 'RIFF'), at(8, kind));
const zip = at(0, 'PK\x03\x04');
const isoMedia = at(4, 'ftyp');
const matroska = at(0, '\x1a\x45\xdf\xa3');
const oldOffice = at(0, '\xd0\xcf\x11\xe0');

/** The bytes with which files of a type begin. The bytes of a file whose type is neither in this list nor a text type are not checked. */
const SIGNATURES: readonly (readonly [type: RegExp, test: Test])[] = [
  [/^image\/png$/, at(0, '\x89PNG\r\n\x1a\n')],
  [/^image\/jpeg$/, at(0, '\xff\xd8\xff')],
  [/^image\/webp$/, riff('WEBP')],
  [/^image\/gif$/, any(at(0, 'GIF87a'), at(0, 'GIF89a'))],
  [/^application\/pdf$/, isPdf],
  [/^audio\/(?:wave?|x-wav|vnd\.wave)$/, riff('WAVE')],
  [/^audio\/(?:mpeg|mp3)$/, any(at(0, 'ID3'), isMpegFrame)],
  [/^audio\/aac$/, any(at(0, 'ADIF'), isMpegFrame)],
  [/^(?:audio|video|application)\/ogg$|^audio\/opus$/, at(0, 'OggS')],
  [/^audio\/(?:x-)?flac$/, at(0, 'fLaC')],
  [/^audio\/(?:x-)?aiff$/, all(at(0, 'FORM'), at(8, 'AIF'))],
  [/^(?:audio|video)\/(?:mp4|(?:x-)?m4[av]|quicktime|3gpp)$|^image\/(?:heic|heif|avif)$/, isoMedia],
  [/^(?:audio|video)\/(?:webm|x-matroska)$/, matroska],
  [/^application\/(?:msword|vnd\.ms-(?:excel|powerpoint))$/, oldOffice],
  [
    /^application\/(?:zip|epub\+zip|vnd\.openxmlformats-officedocument\..+|vnd\.oasis\.opendocument\..+)$/,
    zip,
  ],
  [/^application\/gzip$/, at(0, '\x1f\x8b')],
];

/** The type of a picture by its bytes; null when the bytes are none of `PICTURE_TYPES`. */
export function pictureTypeOf(bytes: Uint8Array): string | null {
  return PICTURE_TYPES.find((type) => hasSignatureOf(type, bytes)) ?? null;
}

/** Whether bytes begin as files of a type do; true for a type without a signature. */
export function hasSignatureOf(type: string, bytes: Uint8Array): boolean {
  return SIGNATURES.find(([pattern]) => pattern.test(type))?.[1](bytes) ?? true;
}

/** Whether bytes are a text in UTF-8 without NUL characters. */
export function isUtf8(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
