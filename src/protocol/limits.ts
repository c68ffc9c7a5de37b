/** How much a server accepts. Sizes are bytes after decoding, lengths are UTF-16 units. */
export interface Limits {
  /** An HTTP body, or one frame. */
  bodyBytes: number;
  /** The bytes of an image, decoded from base64. */
  imageBytes: number;
  /** A file of a message that is no image. */
  fileBytes: number;
  /** The pixels of an image. They are limited because a small file can decode to a huge image. */
  imagePixels: number;
  /** The pixels of the longer side of an image. */
  imageSide: number;
  /** Files in one message. */
  files: number;
  /** The length of all text of one message. */
  textLength: number;
  /** The `metadata` of a user message, as JSON. */
  metadataBytes: number;
  /** The length of an id in a request. Ids that the server creates are not longer. */
  idLength: number;
  /** The length of the reason of a decision. The server cuts off the rest. */
  reasonLength: number;
  /** The length of the error text of a browser tool. The server cuts off the rest. */
  errorLength: number;
  /** Microphone sound in one frame. The default is ten seconds of sound. */
  audioBytes: number;
  /** The levels of nested objects and arrays in a value that is stored. */
  depth: number;
}

/** The default limits of a server. */
export const LIMITS: Readonly<Limits> = {
  bodyBytes: 24 * 1024 * 1024,
  imageBytes: 5 * 1024 * 1024,
  fileBytes: 10 * 1024 * 1024,
  imagePixels: 100_000_000,
  imageSide: 16_384,
  files: 4,
  textLength: 100_000,
  metadataBytes: 16 * 1024,
  idLength: 256,
  reasonLength: 2_000,
  errorLength: 10_000,
  audioBytes: 320_000,
  depth: 100,
};

/** Cuts a text to a length. It makes the text one unit shorter rather than cut inside a surrogate pair. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/** Whether a JSON value has at most `depth` levels of nested objects and arrays. */
export function nestsWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => nestsWithin(inner, depth - 1));
}

/** The number of bytes that a base64 text encodes. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor((text.length * 3) / 4) - padding;
}
