/** The format and size of a picture, read from its first bytes. */
export interface ImageHeader {
  format: 'PNG' | 'JPEG' | 'WebP' | 'GIF';
  width: number;
  height: number;
}

/** Reads format and size from the bytes of a picture, or returns null when they are of no known format. */
export function imageHeader(bytes: Uint8Array): ImageHeader | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const header = pngHeader(view) ?? gifHeader(view) ?? webpHeader(view) ?? jpegHeader(view);
  return header !== null && header.width > 0 && header.height > 0 ? header : null;
}

function textAt(view: DataView, at: number, length: number): string {
  if (at + length > view.byteLength) return '';
  return String.fromCharCode(...Array.from({ length }, (_, index) => view.getUint8(at + index)));
}

function pngHeader(view: DataView): ImageHeader | null {
  if (textAt(view, 0, 8) !== '\x89PNG\r\n\x1a\n' || view.byteLength < 24) return null;
  return { format: 'PNG', width: view.getUint32(16), height: view.getUint32(20) };
}

function gifHeader(view: DataView): ImageHeader | null {
  if (!/^GIF8[79]a$/.test(textAt(view, 0, 6)) || view.byteLength < 10) return null;
  return { format: 'GIF', width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

function webpHeader(view: DataView): ImageHeader | null {
  if (textAt(view, 0, 4) !== 'RIFF' || textAt(view, 8, 4) !== 'WEBP' || view.byteLength < 30) return null;
  const uint24 = (at: number): number => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  switch (textAt(view, 12, 4)) {
    case 'VP8X':
      return { format: 'WebP', width: uint24(24) + 1, height: uint24(27) + 1 };
    case 'VP8L': {
      const packed = view.getUint32(21, true);
      return { format: 'WebP', width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      return {
        format: 'WebP',
        width: view.getUint16(26, true) & 0x3fff,
        height: view.getUint16(28, true) & 0x3fff,
      };
    default:
      return null;
  }
}

function jpegHeader(view: DataView): ImageHeader | null {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return null;
  let at = 2;
  while (at + 9 <= view.byteLength) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { format: 'JPEG', width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    const hasNoLength = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    at += hasNoLength ? 2 : 2 + view.getUint16(at + 2);
  }
  return null;
}
