import type { Pixels } from './pixels.ts';

/** Pictures with more pixels than this are not decoded: their bytes may unpack to far more than they are worth. */
const MOST_PIXELS = 40_000_000;

const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

interface Png {
  width: number;
  height: number;
  depth: number;
  colourType: number;
  channels: number;
  isInterlaced: boolean;
  palette: Uint8Array;
  transparency: Uint8Array;
  packed: Uint8Array[];
}

/** Decodes a PNG of any colour type and depth, or gives null when the file is broken. */
export async function decodePng(bytes: Uint8Array): Promise<Pixels | null> {
  const png = readChunks(bytes);
  if (png === null || png.width * png.height > MOST_PIXELS) return null;
  const passes = png.isInterlaced ? ADAM7 : [{ x: 0, y: 0, stepX: 1, stepY: 1 }];
  const sizes = passes.map((pass) => ({
    ...pass,
    width: Math.ceil((png.width - pass.x) / pass.stepX),
    height: Math.ceil((png.height - pass.y) / pass.stepY),
  }));
  const bitsPerPixel = png.depth * png.channels;
  const rowBytes = (width: number): number => Math.ceil((width * bitsPerPixel) / 8);
  const drawn = sizes.filter((size) => size.width > 0 && size.height > 0);
  const expected = drawn.reduce((sum, size) => sum + (rowBytes(size.width) + 1) * size.height, 0);
  const raw = await inflated(png.packed, expected);
  if (raw === null) return null;

  const rgba = new Uint8Array(png.width * png.height * 4);
  let at = 0;
  for (const size of drawn) {
    const length = rowBytes(size.width);
    let above = new Uint8Array(length);
    for (let row = 0; row < size.height; row += 1) {
      const line = raw.slice(at + 1, at + 1 + length);
      if (!unfilter(raw[at] ?? 0, line, above, Math.max(1, bitsPerPixel >> 3))) return null;
      for (let column = 0; column < size.width; column += 1) {
        const x = size.x + column * size.stepX;
        const y = size.y + row * size.stepY;
        writePixel(png, line, column, rgba, (y * png.width + x) * 4);
      }
      above = line;
      at += 1 + length;
    }
  }
  return { width: png.width, height: png.height, rgba };
}

const ADAM7 = [
  { x: 0, y: 0, stepX: 8, stepY: 8 },
  { x: 4, y: 0, stepX: 8, stepY: 8 },
  { x: 0, y: 4, stepX: 4, stepY: 8 },
  { x: 2, y: 0, stepX: 4, stepY: 4 },
  { x: 0, y: 2, stepX: 2, stepY: 4 },
  { x: 1, y: 0, stepX: 2, stepY: 2 },
  { x: 0, y: 1, stepX: 1, stepY: 2 },
];

function readChunks(bytes: Uint8Array): Png | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 33) return null;
  const colourType = view.getUint8(25);
  const channels = CHANNELS[colourType];
  const depth = view.getUint8(24);
  if (channels === undefined || ![1, 2, 4, 8, 16].includes(depth)) return null;
  const png: Png = {
    width: view.getUint32(16),
    height: view.getUint32(20),
    depth,
    colourType,
    channels,
    isInterlaced: view.getUint8(28) === 1,
    palette: new Uint8Array(),
    transparency: new Uint8Array(),
    packed: [],
  };
  if (png.width === 0 || png.height === 0) return null;
  for (let at = 33; at + 12 <= bytes.length; ) {
    const length = view.getUint32(at);
    const name = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (name === 'PLTE') png.palette = data;
    if (name === 'tRNS') png.transparency = data;
    if (name === 'IDAT') png.packed.push(data);
    if (name === 'IEND') break;
    at += 12 + length;
  }
  return png.packed.length === 0 ? null : png;
}

async function inflated(packed: readonly Uint8Array[], length: number): Promise<Uint8Array | null> {
  const raw = new Uint8Array(length);
  const stream = new Blob(packed.map((piece) => piece.slice()))
    .stream()
    .pipeThrough(new DecompressionStream('deflate'));
  const reader = stream.getReader();
  let filled = 0;
  try {
    while (filled < length) {
      const { done, value } = await reader.read();
      if (done) break;
      raw.set(value.subarray(0, length - filled), filled);
      filled += Math.min(value.length, length - filled);
    }
    await reader.cancel();
  } catch {
    // Damaged data: the caller says that the picture could not be read.
    return null;
  }
  return filled === length ? raw : null;
}

function unfilter(kind: number, line: Uint8Array, above: Uint8Array, distance: number): boolean {
  if (kind > 4) return false;
  for (let index = 0; index < line.length; index += 1) {
    const left = index >= distance ? (line[index - distance] ?? 0) : 0;
    const up = above[index] ?? 0;
    const corner = index >= distance ? (above[index - distance] ?? 0) : 0;
    line[index] = (line[index] ?? 0) + predicted(kind, left, up, corner);
  }
  return true;
}

function predicted(kind: number, left: number, up: number, corner: number): number {
  if (kind === 1) return left;
  if (kind === 2) return up;
  if (kind === 3) return (left + up) >> 1;
  if (kind !== 4) return 0;
  const guess = left + up - corner;
  const toLeft = Math.abs(guess - left);
  const toUp = Math.abs(guess - up);
  const toCorner = Math.abs(guess - corner);
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

function sampleAt(png: Png, line: Uint8Array, index: number): number {
  if (png.depth === 8) return line[index] ?? 0;
  if (png.depth === 16) return ((line[index * 2] ?? 0) << 8) | (line[index * 2 + 1] ?? 0);
  const bit = index * png.depth;
  return ((line[bit >> 3] ?? 0) >> (8 - png.depth - (bit & 7))) & ((1 << png.depth) - 1);
}

function writePixel(png: Png, line: Uint8Array, column: number, rgba: Uint8Array, at: number): void {
  const sample = (channel: number): number => sampleAt(png, line, column * png.channels + channel);
  const toByte = (value: number): number => Math.round((value * 255) / (2 ** png.depth - 1));
  const keyAt = (index: number): number =>
    ((png.transparency[index * 2] ?? 0) << 8) | (png.transparency[index * 2 + 1] ?? 0);
  if (png.colourType === 3) {
    const index = sample(0);
    rgba.set(png.palette.subarray(index * 3, index * 3 + 3), at);
    rgba[at + 3] = png.transparency[index] ?? 255;
    return;
  }
  const isGrey = png.colourType === 0 || png.colourType === 4;
  const colours = isGrey ? [sample(0), sample(0), sample(0)] : [sample(0), sample(1), sample(2)];
  for (const [channel, value] of colours.entries()) rgba[at + channel] = toByte(value);
  if (png.colourType === 4 || png.colourType === 6) rgba[at + 3] = toByte(sample(png.channels - 1));
  else {
    const isKey =
      png.transparency.length >= png.channels * 2 &&
      colours.slice(0, png.channels).every((value, index) => value === keyAt(index));
    rgba[at + 3] = isKey ? 0 : 255;
  }
}
