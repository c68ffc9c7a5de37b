/** The picture types that a message may hold. */
export type PictureType = 'image/png' | 'image/jpeg' | 'image/webp';

/** The type of a picture by its first bytes, regardless of its name; null when it is none of the three. */
export function pictureType(bytes: Uint8Array): PictureType | null {
  const has = (offset: number, ...values: number[]) =>
    values.every((value, index) => bytes[offset + index] === value);
  if (has(0, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png';
  if (has(0, 0xff, 0xd8, 0xff)) return 'image/jpeg';
  if (has(0, 0x52, 0x49, 0x46, 0x46) && has(8, 0x57, 0x45, 0x42, 0x50)) return 'image/webp';
  return null;
}
