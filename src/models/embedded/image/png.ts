import { createInflate } from 'node:zlib';
import type { Pixels } from './pixels.ts';

/** Larger pictures are not decoded: their bytes may unpack to far more than they are worth. */
const MOST_PIXELS = 20_000_000;
const MOST_SIDE = 16_384;

/** A picture in more pieces was not made by a program that means well. */
const MOST_CHUNKS = 20_000;

/** How many bytes are unpacked at a time; between two pieces others have their turn. */
const PIECE_BYTES = 64 * 1024;

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

/** Decodes a PNG of any colour type and depth, or returns null when the file is broken or too large. */
export async function decodePng(bytes: Uint8Array): Promise<Pixels | null> {
  const png = readChunks(bytes);
  if (png === null) return null;
  const drawing = new Drawing(png);
  const inflate = createInflate({ chunkSize: PIECE_BYTES });
  inflate.end(Buffer.concat(png.packed));
  try {
    for await (const piece of inflate) {
      drawing.push(piece as Uint8Array);
      if (drawing.isOver) break;
    }
  } catch {
    // Damaged data: the caller says that the picture could not be read.
    return null;
  }
  return drawing.isWhole ? drawing.pixels : null;
}

interface Pass {
  x: number;
  y: number;
  stepX: number;
  stepY: number;
}

/** Draws the rows of a picture as their bytes come, in pieces cut anywhere; it keeps two rows, and what it has drawn. */
class Drawing {
  readonly pixels: Pixels;
  private readonly png: Png;
  private readonly step: number;
  private readonly passes: (Pass & { width: number; height: number })[];
  private readonly bitsPerPixel: number;
  private row = 0;
  /** A row with its filter before it, and the one above. */
  private line = new Uint8Array();
  private above = new Uint8Array();
  private filled = 0;
  private isDamaged = false;

  constructor(png: Png) {
    const { width, height } = png;
    this.png = png;
    this.bitsPerPixel = png.depth * png.channels;
    this.step = Math.max(1, Math.ceil(Math.sqrt((width * height) / MOST_GIVEN)));
    const given = { width: Math.ceil(width / this.step), height: Math.ceil(height / this.step) };
    this.pixels = { ...given, rgba: new Uint8Array(given.width * given.height * 4) };
    this.passes = (png.isInterlaced ? ADAM7 : [{ x: 0, y: 0, stepX: 1, stepY: 1 }])
      .map((pass) => ({
        ...pass,
        width: Math.ceil((width - pass.x) / pass.stepX),
        height: Math.ceil((height - pass.y) / pass.stepY),
      }))
      .filter((pass) => pass.width > 0 && pass.height > 0);
    this.beginPass();
  }

  get isWhole(): boolean {
    return !this.isDamaged && this.passes.length === 0;
  }

  get isOver(): boolean {
    return this.isDamaged || this.passes.length === 0;
  }

  push(piece: Uint8Array): void {
    for (let at = 0; at < piece.length && !this.isOver; ) {
      const taken = piece.subarray(at, at + this.line.length - this.filled);
      this.line.set(taken, this.filled);
      at += taken.length;
      this.filled += taken.length;
      if (this.filled === this.line.length) this.endRow();
    }
  }

  private beginPass(): void {
    const [pass] = this.passes;
    const length = 1 + Math.ceil(((pass?.width ?? 0) * this.bitsPerPixel) / 8);
    this.line = new Uint8Array(length);
    this.above = new Uint8Array(length);
    this.row = 0;
    this.filled = 0;
  }

  private endRow(): void {
    const [pass] = this.passes;
    const { line } = this;
    this.isDamaged = !unfilter(line, this.above, Math.max(1, this.bitsPerPixel >> 3));
    if (pass === undefined || this.isDamaged) return;
    this.draw(pass, line.subarray(1));
    this.line = this.above;
    this.above = line;
    this.filled = 0;
    this.row += 1;
    if (this.row < pass.height) return;
    this.passes.shift();
    this.beginPass();
  }

  private draw(pass: Pass & { width: number }, line: Uint8Array): void {
    const { step, pixels } = this;
    const y = pass.y + this.row * pass.stepY;
    if (y % step !== 0) return;
    for (let column = 0; column < pass.width; column += 1) {
      const x = pass.x + column * pass.stepX;
      if (x % step === 0)
        writePixel(this.png, line, column, pixels.rgba, ((y / step) * pixels.width + x / step) * 4);
    }
  }
}

const ADAM7: readonly Pass[] = [
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
  const width = view.getUint32(16);
  const height = view.getUint32(20);
  if (width === 0 || height === 0 || width * height > MOST_PIXELS || Math.max(width, height) > MOST_SIDE)
    return null;
  const png: Png = {
    width,
    height,
    depth,
    colourType,
    channels,
    isInterlaced: view.getUint8(28) === 1,
    palette: new Uint8Array(),
    transparency: new Uint8Array(),
    packed: [],
  };
  let count = 0;
  for (let at = 33; at + 12 <= bytes.length; count += 1) {
    if (count > MOST_CHUNKS) return null;
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

/** Undoes the filter of a row, which its first byte names; the loops are written out because they touch every byte. */
function unfilter(line: Uint8Array, above: Uint8Array, distance: number): boolean {
  const length = line.length;
  switch (line[0]) {
    case 0:
      return true;
    case 1:
      for (let index = distance + 1; index < length; index += 1) {
        line[index] = (line[index] as number) + (line[index - distance] as number);
      }
      return true;
    case 2:
      for (let index = 1; index < length; index += 1) {
        line[index] = (line[index] as number) + (above[index] as number);
      }
      return true;
    case 3:
      for (let index = 1; index < length; index += 1) {
        const left = index > distance ? (line[index - distance] as number) : 0;
        line[index] = (line[index] as number) + ((left + (above[index] as number)) >> 1);
      }
      return true;
    case 4:
      for (let index = 1; index < length; index += 1) {
        const left = index > distance ? (line[index - distance] as number) : 0;
        const corner = index > distance ? (above[index - distance] as number) : 0;
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
