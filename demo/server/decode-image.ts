import type { DecodeImage } from 'duologue/models/embedded';

/** Colours need no more pixels than this on a side. */
const SIDE = 500;
/** Larger pictures are refused before any pixel is decoded. */
const MAX_PIXELS = 100_000_000;

/**
 * Creates the image decoder of the embedded model: PNG, JPEG, WebP and GIF through `sharp`, whose decoders run outside the
 * event loop. It decodes one picture at a time, so that many pictures need no more memory than one, and returns them
 * reduced. It resolves to null for bytes that `sharp` cannot decode, and where `sharp` has no binary for the platform.
 */
export function createImageDecoder(): DecodeImage {
  let last: Promise<unknown> = Promise.resolve();
  return (bytes) => {
    const decoded = last.then(() => decode(bytes));
    last = decoded;
    return decoded;
  };
}

/** The formats that a person can send. Every other loader of `sharp` (SVG, PDF and more) is switched off. */
const LOADERS = ['Png', 'Jpeg', 'Webp', 'Nsgif'].map((name) => `VipsForeignLoad${name}Buffer`);

const decode: DecodeImage = async (bytes) => {
  try {
    const { default: sharp } = await import('sharp');
    sharp.block({ operation: ['VipsForeignLoad'] });
    sharp.unblock({ operation: LOADERS });
    const { data, info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS })
      .resize({ width: SIDE, height: SIDE, fit: 'inside', withoutEnlargement: true, kernel: 'nearest' })
      .toColourspace('srgb')
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    return { width: info.width, height: info.height, rgba: data };
  } catch {
    return null;
  }
};
