import type { PictureType } from './kind.ts';

/** The longest side that is worth sending: models see no more. */
const MAX_SIDE = 1568;
const SMALL_BYTES = 400 * 1024;

/** The size that a picture is drawn at so that no side is longer than models can use. */
export function fittingSize(width: number, height: number): { width: number; height: number } {
  const scale = Math.min(1, MAX_SIDE / Math.max(width, height, 1));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/**
 * Makes a picture as small as it may be. Photographs are always drawn anew, which leaves behind where and with what they
 * were taken; other pictures only when they are large. Fails when the bytes are no picture.
 */
export async function shrink(file: Blob, type: PictureType): Promise<Blob> {
  const bitmap = await createImageBitmap(file);
  try {
    const { width, height } = fittingSize(bitmap.width, bitmap.height);
    const isFitting = width === bitmap.width && height === bitmap.height;
    if (isFitting && type !== 'image/jpeg' && file.size <= SMALL_BYTES) return new Blob([file], { type });
    const canvas = document.createElement('canvas');
    canvas.width = width;
    canvas.height = height;
    const pen = canvas.getContext('2d', { willReadFrequently: true });
    if (!pen) return new Blob([file], { type });
    pen.drawImage(bitmap, 0, 0, width, height);
    // Every model reads JPEG, but it cannot be transparent.
    const isOpaque = type === 'image/jpeg' || hasNoHoles(pen.getImageData(0, 0, width, height).data);
    return (await encode(canvas, isOpaque ? 'image/jpeg' : 'image/png')) ?? new Blob([file], { type });
  } finally {
    bitmap.close();
  }
}

/** Whether no pixel lets through what is behind it. */
export function hasNoHoles(pixels: Uint8ClampedArray): boolean {
  for (let index = 3; index < pixels.length; index += 4) if (pixels[index] !== 255) return false;
  return true;
}

function encode(canvas: HTMLCanvasElement, type: PictureType): Promise<Blob | null> {
  return new Promise((resolve) => {
    canvas.toBlob((blob) => resolve(blob?.type === type ? blob : null), type, 0.86);
  });
}
