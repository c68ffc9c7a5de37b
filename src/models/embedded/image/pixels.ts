/** Pixels of a picture, four bytes each (red, green, blue, alpha); a decoder may give a reduced picture. */
export interface Pixels {
  width: number;
  height: number;
  rgba: Uint8Array;
}

/** Turns the bytes of a picture into pixels, or returns null when it cannot read them. */
export type DecodeImage = (bytes: Uint8Array) => Promise<Pixels | null>;
