import { BitReader, DamagedError, type Huffman } from './jpeg-bits.ts';
import type { Pixels } from './pixels.ts';
import { inSlices } from './slices.ts';

interface Component {
  id: number;
  across: number;
  down: number;
  table: number;
  blocksAcross: number;
  blocksDown: number;
  /** Mean value of each 8 x 8 block, the picture at an eighth of its size. */
  means: Float32Array;
  isRead: boolean;
}

interface Frame {
  width: number;
  height: number;
  isProgressive: boolean;
  components: Component[];
  mostAcross: number;
  mostDown: number;
}

/**
 * Decodes a JPEG at an eighth of its size, or returns null when it cannot: of each 8 x 8 block only the mean is
 * needed to tell the colours, so no cosine transform is done. Reads 8-bit sequential and progressive files with
 * one or three components.
 */
export async function decodeJpeg(bytes: Uint8Array): Promise<Pixels | null> {
  try {
    return await inSlices(decode(bytes));
  } catch (error) {
    if (error instanceof DamagedError || error instanceof RangeError) return null;
    throw error;
  }
}

const MOST_BLOCKS = 1_000_000;

/** How many blocks are read, or pixels drawn, in one slice. */
const SLICE = 2_000;

function* decode(bytes: Uint8Array): Generator<void, Pixels | null, void> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const quantizers = new Map<number, number>();
  const tables = new Map<number, Huffman>();
  let frame: Frame | undefined;
  let restartInterval = 0;
  let isRgb = false;
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) {
      at += 1;
      continue;
    }
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker === 0 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += 2;
      continue;
    }
    if (marker === 0xd9) break;
    const length = view.getUint16(at + 2);
    const body = bytes.subarray(at + 4, at + 2 + length);
    at += 2 + length;
    if (marker === 0xdb) readQuantizers(body, quantizers);
    else if (marker === 0xc4) readHuffman(body, tables);
    else if (marker === 0xdd) restartInterval = ((body[0] ?? 0) << 8) | (body[1] ?? 0);
    else if (marker === 0xee && String.fromCharCode(...body.subarray(0, 5)) === 'Adobe')
      isRgb = body[11] === 0;
    else if (marker === 0xc0 || marker === 0xc1 || marker === 0xc2) {
      frame = readFrame(body, marker === 0xc2);
      if (frame === undefined) return null;
    } else if (marker === 0xda && frame !== undefined) {
      yield* readScan(body, bytes.subarray(at), frame, tables, restartInterval);
      if (frame.components.every((component) => component.isRead))
        return yield* toPixels(frame, quantizers, isRgb);
    } else if (marker >= 0xc3 && marker <= 0xcf && marker !== 0xc8 && marker !== 0xcc) return null;
  }
  return null;
}

function readQuantizers(body: Uint8Array, quantizers: Map<number, number>): void {
  for (let at = 0; at < body.length; ) {
    const head = body[at] ?? 0;
    const isWide = head >> 4 !== 0;
    quantizers.set(
      head & 15,
      isWide ? ((body[at + 1] ?? 0) << 8) | (body[at + 2] ?? 0) : (body[at + 1] ?? 0),
    );
    at += 1 + (isWide ? 128 : 64);
  }
}

function readHuffman(body: Uint8Array, tables: Map<number, Huffman>): void {
  for (let at = 0; at + 17 <= body.length; ) {
    const table: Huffman = { first: [0], start: [0], count: [0], values: new Uint8Array() };
    let code = 0;
    let total = 0;
    for (let length = 1; length <= 16; length += 1) {
      const count = body[at + length] ?? 0;
      table.first.push(code);
      table.start.push(total);
      table.count.push(count);
      total += count;
      code = (code + count) << 1;
    }
    table.values = body.subarray(at + 17, at + 17 + total);
    tables.set(body[at] ?? 0, table);
    at += 17 + total;
  }
}

function readFrame(body: Uint8Array, isProgressive: boolean): Frame | undefined {
  const height = ((body[1] ?? 0) << 8) | (body[2] ?? 0);
  const width = ((body[3] ?? 0) << 8) | (body[4] ?? 0);
  const count = body[5] ?? 0;
  if (body[0] !== 8 || width === 0 || height === 0 || (count !== 1 && count !== 3)) return undefined;
  const shapes = Array.from({ length: count }, (_, index) => {
    const at = 6 + index * 3;
    return {
      id: body[at] ?? 0,
      across: (body[at + 1] ?? 0) >> 4,
      down: (body[at + 1] ?? 0) & 15,
      table: body[at + 2] ?? 0,
    };
  });
  if (shapes.some(({ across, down }) => across < 1 || across > 4 || down < 1 || down > 4)) return undefined;
  const mostAcross = Math.max(...shapes.map((shape) => shape.across));
  const mostDown = Math.max(...shapes.map((shape) => shape.down));
  const unitsAcross = Math.ceil(width / (8 * mostAcross));
  const unitsDown = Math.ceil(height / (8 * mostDown));
  if (unitsAcross * unitsDown * mostAcross * mostDown > MOST_BLOCKS) return undefined;
  const components = shapes.map((shape) => {
    const blocksAcross = unitsAcross * shape.across;
    const blocksDown = unitsDown * shape.down;
    return {
      ...shape,
      blocksAcross,
      blocksDown,
      means: new Float32Array(blocksAcross * blocksDown),
      isRead: false,
    };
  });
  return { width, height, isProgressive, components, mostAcross, mostDown };
}

/** Reads one scan's mean values. Where it ends is not known: the next marker is searched for. */
function* readScan(
  body: Uint8Array,
  data: Uint8Array,
  frame: Frame,
  tables: Map<number, Huffman>,
  restartInterval: number,
): Generator<void, void, void> {
  const count = body[0] ?? 0;
  const spectralStart = body[1 + count * 2] ?? 0;
  const approximation = body[3 + count * 2] ?? 0;
  if (frame.isProgressive && (spectralStart !== 0 || approximation >> 4 !== 0)) return;
  const shift = frame.isProgressive ? approximation & 15 : 0;
  const parts = Array.from({ length: count }, (_, index) => {
    const component = frame.components.find(({ id }) => id === body[1 + index * 2]);
    const selectors = body[2 + index * 2] ?? 0;
    const dc = tables.get(selectors >> 4);
    const ac = tables.get(0x10 | (selectors & 15));
    // A file that gives its means again and again would keep us reading for ever.
    if (component === undefined || component.isRead) throw new DamagedError();
    if (dc === undefined || (!frame.isProgressive && ac === undefined)) throw new DamagedError();
    return { component, dc, ac, predictor: 0 };
  });
  const bits = new BitReader(data);
  const readBlock = (part: (typeof parts)[number], column: number, row: number): void => {
    const size = bits.code(part.dc);
    part.predictor += bits.signed(size);
    part.component.means[row * part.component.blocksAcross + column] = part.predictor * 2 ** shift;
    if (frame.isProgressive || part.ac === undefined) return;
    for (let index = 1; index < 64; ) {
      const runAndSize = bits.code(part.ac);
      const width = runAndSize & 15;
      if (width === 0 && runAndSize !== 0xf0) break;
      index += (runAndSize >> 4) + 1;
      bits.skip(width);
    }
  };

  const only = parts.length === 1 ? parts[0]?.component : undefined;
  const across =
    only === undefined
      ? Math.ceil(frame.width / (8 * frame.mostAcross))
      : Math.ceil(Math.ceil((frame.width * only.across) / frame.mostAcross) / 8);
  const down =
    only === undefined
      ? Math.ceil(frame.height / (8 * frame.mostDown))
      : Math.ceil(Math.ceil((frame.height * only.down) / frame.mostDown) / 8);
  for (let unit = 0; unit < across * down; unit += 1) {
    if (unit % SLICE === 0) yield;
    if (restartInterval > 0 && unit > 0 && unit % restartInterval === 0) {
      bits.restart();
      for (const part of parts) part.predictor = 0;
    }
    const column = unit % across;
    const row = Math.floor(unit / across);
    for (const part of parts) {
      if (only !== undefined) {
        readBlock(part, column, row);
        continue;
      }
      const { across: h, down: v } = part.component;
      for (let y = 0; y < v; y += 1)
        for (let x = 0; x < h; x += 1) readBlock(part, column * h + x, row * v + y);
    }
  }
  for (const part of parts) part.component.isRead = true;
}

function* toPixels(
  frame: Frame,
  quantizers: Map<number, number>,
  isRgb: boolean,
): Generator<void, Pixels, void> {
  const width = Math.ceil(frame.width / 8);
  const height = Math.ceil(frame.height / 8);
  // Clamped as they are written.
  const rgba = new Uint8ClampedArray(width * height * 4);
  const valueAt = (component: Component, x: number, y: number): number => {
    const column = Math.floor((x * component.across) / frame.mostAcross);
    const row = Math.floor((y * component.down) / frame.mostDown);
    const mean = component.means[row * component.blocksAcross + column] ?? 0;
    return (mean * (quantizers.get(component.table) ?? 1)) / 8 + 128;
  };
  const [luma, blueness, redness] = frame.components;
  for (let y = 0, drawn = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, drawn += 1) {
      if (drawn % SLICE === 0) yield;
      const first = luma === undefined ? 0 : valueAt(luma, x, y);
      const second = blueness === undefined ? 128 : valueAt(blueness, x, y);
      const third = redness === undefined ? 128 : valueAt(redness, x, y);
      const blue = second - 128;
      const red = third - 128;
      const isColour = isRgb && frame.components.length === 3;
      const at = (y * width + x) * 4;
      rgba[at] = isColour ? first : first + 1.402 * red;
      rgba[at + 1] = isColour ? second : first - 0.344136 * blue - 0.714136 * red;
      rgba[at + 2] = isColour ? third : first + 1.772 * blue;
      rgba[at + 3] = 255;
    }
  }
  return { width, height, rgba: new Uint8Array(rgba.buffer) };
}
