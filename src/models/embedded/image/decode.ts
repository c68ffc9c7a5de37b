import { imageHeader } from './header.ts';
import { decodeJpeg } from './jpeg.ts';
import type { DecodeImage } from './pixels.ts';
import { decodePng } from './png.ts';

/**
 * The decoder used unless another is given: PNG and JPEG; of WebP and GIF only the header is read. It decodes one picture after
 * the other, in slices, so that many pictures at once hold nobody up and need no more memory than one.
 */
export function createDecoder(): DecodeImage {
  let last: Promise<unknown> = Promise.resolve();
  return (bytes) => {
    const decoded = last.then(() => decode(bytes));
    last = decoded.catch(() => undefined);
    return decoded;
  };
}

const decode: DecodeImage = async (bytes) => {
  switch (imageHeader(bytes)?.format) {
    case 'PNG':
      return decodePng(bytes);
    case 'JPEG':
      return decodeJpeg(bytes);
    default:
      return null;
  }
};
