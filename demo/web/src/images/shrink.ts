import type { PictureType } from './kind.ts';

/** The longest side of a picture in pixels. Models see no more detail in larger ones. */
const MAX_SIDE = 1568;
const SMALL_BYTES = 400 * 1024;

/** The size to which a picture is scaled, so that no side is longer than `MAX_SIDE`. */
export function fittingSize(width: number, height: number): { width: number; height: number } {
  const scale = Math.min(1, MAX_SIDE / Math.max(width, height, 1));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/**
 * Scales a picture down and encodes it again. A JPEG is always encoded again, which removes the place and the camera
 * of a photograph; other pictures only when they are large. Rejects when the bytes are no picture.
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
    // JPEG is smaller, and every model reads it, but it has no transparency.
    const isOpaque = type === 'image/jpeg' || hasNoHoles(pen.getImageData(0, 0, width, height).data);
    return (await encode(canvas, isOpaque ? 'image/jpeg' : 'image/png')) ?? new Blob([file], { type });
  } finally {
    bitmap.close();
  }
}

/** Whether every pixel is opaque. */
export function hasNoHoles(pixels: Uint8ClampedArray): boolean {
  for (let index = 3; index < pixels.length; index += 4) if (pixels[index] !== 255) return false;
  return true;
}

function encode(canvas: HTMLCanvasElement, type: PictureType): Promise<Blob | null> {
  return new Promise((resolve) => {
    canvas.toBlob((blob) => resolve(blob?.type === type ? blob : null), type, 0.86);
  });
}
