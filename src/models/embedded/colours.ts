import type { EmbeddedTexts } from './texts/en.ts';

/** Pixels of a picture, four bytes each (red, green, blue, alpha). A decoder may reduce the picture. */
export interface Pixels {
  width: number;
  height: number;
  rgba: Uint8Array;
}

/** Decodes the bytes of a picture. Resolves to null for bytes that it cannot decode; a rejection fails the model call. */
export type DecodeImage = (bytes: Uint8Array) => Promise<Pixels | null>;

/** A colour of a picture: its name, the mean of its pixels, and how much of the picture it covers. */
export interface ColourShare {
  name: ColourName;
  hex: string;
  share: number;
}

/** What the pixels of a picture show. */
export interface PictureColours {
  colours: ColourShare[];
  /** How much of the picture is transparent, from 0 to 1. */
  transparent: number;
}

/** The name of a colour; `texts/` has it in each language. */
export type ColourName = keyof EmbeddedTexts['picture']['names'];

const MOST_SAMPLES = 50_000;
const LEAST_SHARE = 0.05;
const MOST_COLOURS = 3;

/** The dominant colours of a picture, the largest first. */
export function dominantColours(pixels: Pixels): PictureColours {
  const { width, height, rgba } = pixels;
  const total = width * height;
  const step = Math.max(1, Math.floor(total / MOST_SAMPLES));
  const sums = new Map<ColourName, { rgb: [number, number, number]; count: number }>();
  let seen = 0;
  let transparent = 0;
  for (let index = 0; index < total; index += step) {
    const [red = 0, green = 0, blue = 0, alpha = 255] = rgba.subarray(index * 4, index * 4 + 4);
    seen += 1;
    if (alpha < 128) {
      transparent += 1;
      continue;
    }
    const name = colourName(red, green, blue);
    const { rgb, count } = sums.get(name) ?? { rgb: [0, 0, 0], count: 0 };
    sums.set(name, { rgb: [rgb[0] + red, rgb[1] + green, rgb[2] + blue], count: count + 1 });
  }
  const hexOf = (value: number) => Math.round(value).toString(16).padStart(2, '0');
  const colours = [...sums]
    .map(([name, { rgb, count }]) => ({
      name,
      hex: `#${rgb.map((sum) => hexOf(sum / count)).join('')}`,
      share: count / seen,
    }))
    .filter((colour) => colour.share >= LEAST_SHARE)
    .sort((one, other) => other.share - one.share)
    .slice(0, MOST_COLOURS);
  return { colours, transparent: seen === 0 ? 0 : transparent / seen };
}

function colourName(red: number, green: number, blue: number): ColourName {
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  const spread = most - least;
  const lightness = (most + least) / 2;
  if (most < 40) return 'black';
  if (spread < 28 || spread / most < 0.12)
    return lightness > 225 ? 'white' : lightness < 45 ? 'black' : 'grey';
  const hue =
    most === red
      ? (((green - blue) / spread) * 60 + 360) % 360
      : most === green
        ? ((blue - red) / spread) * 60 + 120
        : ((red - green) / spread) * 60 + 240;
  if (hue < 12 || hue >= 345) return lightness > 175 ? 'pink' : 'red';
  if (hue < 45) return lightness < 100 ? 'brown' : 'orange';
  if (hue < 70) return 'yellow';
  if (hue < 165) return 'green';
  if (hue < 200) return 'cyan';
  if (hue < 260) return 'blue';
  return hue < 300 || lightness < 90 ? 'purple' : 'pink';
}
