import type { Pixels } from './pixels.ts';

/** Pictures with more pixels than this are not decoded: their bytes may unpack to far more than they are worth. */
const MOST_PIXELS = 20_000_000;

/** Larger pictures are given reduced, every nth pixel of every nth row: enough to tell the colours. */
const MOST_GIVEN = 250_000;

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

  const step = Math.max(1, Math.ceil(Math.sqrt((png.width * png.height) / MOST_GIVEN)));
  const width = Math.ceil(png.width / step);
  const height = Math.ceil(png.height / step);
  const rgba = new Uint8Array(width * height * 4);
  const distance = Math.max(1, bitsPerPixel >> 3);
  let at = 0;
  for (const size of drawn) {
    const length = rowBytes(size.width);
    let above: Uint8Array = new Uint8Array(length);
    for (let row = 0; row < size.height; row += 1) {
      const line = raw.subarray(at + 1, at + 1 + length);
      if (!unfilter(raw[at] ?? 0, line, above, distance)) return null;
      above = line;
      at += 1 + length;
      const y = size.y + row * size.stepY;
      if (y % step !== 0) continue;
      for (let column = 0; column < size.width; column += 1) {
        const x = size.x + column * size.stepX;
        if (x % step === 0) writePixel(png, line, column, rgba, ((y / step) * width + x / step) * 4);
      }
    }
  }
  return { width, height, rgba };
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

/** Undoes a row's filter in place; the loops are written out because they touch every byte of the picture. */
function unfilter(kind: number, line: Uint8Array, above: Uint8Array, distance: number): boolean {
  const length = line.length;
  switch (kind) {
    case 0:
      return true;
    case 1:
      for (let index = distance; index < length; index += 1) {
        line[index] = (line[index] as number) + (line[index - distance] as number);
      }
      return true;
    case 2:
      for (let index = 0; index < length; index += 1) {
        line[index] = (line[index] as number) + (above[index] as number);
      }
      return true;
    case 3:
      for (let index = 0; index < length; index += 1) {
        const left = index >= distance ? (line[index - distance] as number) : 0;
        line[index] = (line[index] as number) + ((left + (above[index] as number)) >> 1);
      }
      return true;
    case 4:
      for (let index = 0; index < length; index += 1) {
        const left = index >= distance ? (line[index - distance] as number) : 0;
        const corner = index >= distance ? (above[index - distance] as number) : 0;
        line[index] = (line[index] as number) + nearest(left, above[index] as number, corner);
      }
      return true;
    default:
      return false;
  }
}

function nearest(left: number, up: number, corner: number): number {
  const toLeft = Math.abs(up - corner);
  const toUp = Math.abs(left - corner);
  const toCorner = Math.abs(left + up - 2 * corner);
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
  const first = column * png.channels;
  if (png.colourType === 3) {
    const index = sampleAt(png, line, first);
    for (let channel = 0; channel < 3; channel += 1)
      rgba[at + channel] = png.palette[index * 3 + channel] ?? 0;
    rgba[at + 3] = png.transparency[index] ?? 255;
    return;
  }
  const scale = 255 / (2 ** png.depth - 1);
  const isGrey = png.colourType === 0 || png.colourType === 4;
  const hasAlpha = png.colourType === 4 || png.colourType === 6;
  // Without an alpha channel one colour may be declared transparent.
  let isClear = !hasAlpha && png.transparency.length >= png.channels * 2;
  for (let channel = 0; channel < 3; channel += 1) {
    const own = isGrey ? 0 : channel;
    const value = sampleAt(png, line, first + own);
    rgba[at + channel] = Math.round(value * scale);
    if (isClear && value !== ((png.transparency[own * 2] ?? 0) << 8) + (png.transparency[own * 2 + 1] ?? 0))
      isClear = false;
  }
  if (hasAlpha) rgba[at + 3] = Math.round(sampleAt(png, line, first + png.channels - 1) * scale);
  else rgba[at + 3] = isClear ? 0 : 255;
}
