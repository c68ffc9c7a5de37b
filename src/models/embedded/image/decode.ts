import { imageHeader } from './header.ts';
import { decodeJpeg } from './jpeg.ts';
import type { DecodeImage } from './pixels.ts';
import { decodePng } from './png.ts';

/** The decoder used unless another is given: PNG and JPEG; of WebP and GIF only the header is read. */
export const decodeImage: DecodeImage = async (bytes) => {
  switch (imageHeader(bytes)?.format) {
    case 'PNG':
      return decodePng(bytes);
    case 'JPEG':
      return decodeJpeg(bytes);
    default:
      return null;
  }
};
