import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dominantColours } from '../../../src/models/embedded/image/colours.ts';
import { createDecoder } from '../../../src/models/embedded/image/decode.ts';
import { imageHeader } from '../../../src/models/embedded/image/header.ts';
import { PICTURES } from './pictures.ts';
import { ask, model, user } from './talk.ts';

const decodeImage = createDecoder();

const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'));

interface PngOptions {
  depth?: number;
  colourType?: number;
  isInterlaced?: boolean;
  palette?: number[];
  transparency?: number[];
}

/** A PNG file from rows that each begin with their filter byte. */
function png(width: number, height: number, rows: number[][], options: PngOptions = {}): Uint8Array {
  const chunk = (name: string, data: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(name, 'latin1'), data, Buffer.alloc(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([options.depth ?? 8, options.colourType ?? 2, 0, 0, options.isInterlaced ? 1 : 0], 8);
  return new Uint8Array(
    Buffer.concat([
      Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
      chunk('IHDR', head),
      ...(options.palette ? [chunk('PLTE', Buffer.from(options.palette))] : []),
      ...(options.transparency ? [chunk('tRNS', Buffer.from(options.transparency))] : []),
      chunk('IDAT', deflateSync(Buffer.from(rows.flat()))),
      chunk('IEND', Buffer.alloc(0)),
    ]),
  );
}

/** The same PNG with empty pieces of data before its own. */
function withEmptyPieces(file: Uint8Array, count: number): Uint8Array {
  const empty = Buffer.concat([Buffer.alloc(4), Buffer.from('IDAT', 'latin1'), Buffer.alloc(4)]);
  return new Uint8Array(
    Buffer.concat([file.subarray(0, 33), ...Array.from({ length: count }, () => empty), file.subarray(33)]),
  );
}

/** A JPEG without details: each block is one bit that says "no change" and one that says "nothing more". */
function plainJpeg(side: number, components: number, scans: readonly number[]): Uint8Array {
  const table = (kind: number) => [0xff, 0xc4, 0, 20, kind, 1, ...Array(15).fill(0), 0];
  const size = [side >> 8, side & 255];
  const shapes = Array.from({ length: components }, (_, at) => [at + 1, 0x11, 0]).flat();
  const data = Array(Math.ceil((Math.ceil(side / 8) ** 2 * 2) / 8)).fill(0);
  return new Uint8Array([
    ...[0xff, 0xd8, 0xff, 0xdb, 0, 67, 0, ...Array(64).fill(1)],
    ...[0xff, 0xc0, 0, 8 + shapes.length, 8, ...size, ...size, components, ...shapes],
    ...table(0x00),
    ...table(0x10),
    ...scans.flatMap((component) => [0xff, 0xda, 0, 8, 1, component, 0, 0, 63, 0, ...data]),
  ]);
}

/** How often the event loop came round while the work was done. */
async function turnsWhile(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work.finally(() => {
    isOver = true;
  });
  return turns;
}

const pixelsOf = async (bytes: Uint8Array): Promise<number[] | null> => {
  const pixels = await decodeImage(bytes);
  return pixels === null ? null : [...pixels.rgba];
};

describe('the header of a picture tells its format and size', () => {
  test.each([
    ['JPEG', PICTURES.BASELINE, 64, 48],
    ['JPEG', PICTURES.PROGRESSIVE, 64, 48],
    ['WebP', PICTURES.WEBP_LOSSY, 64, 48],
    ['WebP', PICTURES.WEBP_LOSSLESS, 64, 48],
    ['WebP', PICTURES.WEBP_ALPHA, 33, 17],
    ['GIF', PICTURES.GIF, 20, 10],
  ] as const)('%s', (format, base64, width, height) => {
    expect(imageHeader(bytesOf(base64))).toEqual({ format, width, height });
  });

  test('PNG', () => {
    expect(imageHeader(png(3, 2, []))).toEqual({ format: 'PNG', width: 3, height: 2 });
  });

  test('other bytes have none', () => {
    expect(imageHeader(new Uint8Array())).toBeNull();
    expect(imageHeader(new TextEncoder().encode('hello, this is no picture at all, just words'))).toBeNull();
  });
});

describe('PNG pixels are decoded', () => {
  test.each<[kind: string, file: Uint8Array, pixels: number[]]>([
    ['colours without a filter', png(2, 1, [[0, 255, 0, 0, 0, 0, 255]]), [255, 0, 0, 255, 0, 0, 255, 255]],
    [
      'the filter of the left neighbour',
      png(2, 1, [[1, 10, 20, 30, 1, 2, 3]]),
      [10, 20, 30, 255, 11, 22, 33, 255],
    ],
    [
      'the filter of the row above',
      png(1, 2, [
        [0, 10, 20, 30],
        [2, 1, 2, 3],
      ]),
      [10, 20, 30, 255, 11, 22, 33, 255],
    ],
    [
      'the average filter',
      png(2, 2, [
        [0, 10, 10, 10, 20, 20, 20],
        [3, 1, 1, 1, 1, 1, 1],
      ]),
      [10, 10, 10, 255, 20, 20, 20, 255, 6, 6, 6, 255, 14, 14, 14, 255],
    ],
    [
      'the Paeth filter',
      png(2, 2, [
        [0, 10, 10, 10, 20, 20, 20],
        [4, 1, 1, 1, 1, 1, 1],
      ]),
      [10, 10, 10, 255, 20, 20, 20, 255, 11, 11, 11, 255, 21, 21, 21, 255],
    ],
    ['an alpha channel', png(1, 1, [[0, 1, 2, 3, 4]], { colourType: 6 }), [1, 2, 3, 4]],
    ['grey', png(2, 1, [[0, 0, 200]], { colourType: 0 }), [0, 0, 0, 255, 200, 200, 200, 255]],
    ['grey with alpha', png(1, 1, [[0, 7, 9]], { colourType: 4 }), [7, 7, 7, 9]],
    [
      'one bit of grey',
      png(4, 1, [[0, 0b01010000]], { colourType: 0, depth: 1 }),
      [0, 0, 0, 255, 255, 255, 255, 255, 0, 0, 0, 255, 255, 255, 255, 255],
    ],
    ['sixteen bits', png(1, 1, [[0, 0xff, 0xff, 0x80, 0x80, 0, 0]], { depth: 16 }), [255, 128, 0, 255]],
    [
      'a palette with transparency',
      png(2, 1, [[0, 0b00010000]], {
        colourType: 3,
        depth: 4,
        palette: [1, 2, 3, 4, 5, 6],
        transparency: [0],
      }),
      [1 + 3, 5, 6, 255, 1, 2, 3, 0],
    ],
    [
      'a colour declared transparent',
      png(2, 1, [[0, 9, 9, 9, 8, 9, 9]], { transparency: [0, 9, 0, 9, 0, 9] }),
      [9, 9, 9, 0, 8, 9, 9, 255],
    ],
  ])('%s', async (_kind, file, pixels) => {
    expect(await pixelsOf(file)).toEqual(pixels);
  });

  test('a large picture is given reduced', async () => {
    const width = 1500;
    const rows = Array.from({ length: 1000 }, () => [0, ...Array.from({ length: width }, () => 200)]);
    const pixels = await decodeImage(png(width, 1000, rows, { colourType: 0 }));
    expect({
      width: pixels?.width,
      height: pixels?.height,
      all: pixels?.rgba.every((value, at) => value === (at % 4 === 3 ? 255 : 200)),
    }).toEqual({
      width: 500,
      height: 334,
      all: true,
    });
  });

  test('an interlaced picture has the pixels of the same picture row by row', async () => {
    const [width, height] = [11, 9];
    const valueAt = (x: number, y: number) => (x * 31 + y * 17) % 256;
    const rowsOf = (x0: number, y0: number, stepX: number, stepY: number): number[][] => {
      const rows: number[][] = [];
      for (let y = y0; y < height; y += stepY) {
        const row = [0];
        for (let x = x0; x < width; x += stepX) row.push(valueAt(x, y));
        if (row.length > 1) rows.push(row);
      }
      return rows;
    };
    const passes = [
      rowsOf(0, 0, 8, 8),
      rowsOf(4, 0, 8, 8),
      rowsOf(0, 4, 4, 8),
      rowsOf(2, 0, 4, 4),
      rowsOf(0, 2, 2, 4),
      rowsOf(1, 0, 2, 2),
      rowsOf(0, 1, 1, 2),
    ].flat();
    const grey = { colourType: 0 };
    expect(await pixelsOf(png(width, height, passes, { ...grey, isInterlaced: true }))).toEqual(
      await pixelsOf(png(width, height, rowsOf(0, 0, 1, 1), grey)),
    );
  });

  test.each<[kind: string, file: Uint8Array]>([
    [
      'more rows than any picture has',
      png(
        1,
        20_000,
        Array.from({ length: 20_000 }, () => [0, 1, 2, 3]),
      ),
    ],
    ['a longer row than any picture has', png(20_000, 1, [[0, ...Array(60_000).fill(1)]])],
    ['more pieces than any picture has', withEmptyPieces(png(1, 1, [[0, 1, 2, 3]]), 30_000)],
    ['truncated data', png(20, 20, [[0, 1, 2, 3]])],
    ['an unknown filter', png(1, 1, [[9, 1, 2, 3]])],
    ['a size beyond reason', png(100_000, 100_000, [[0, 1, 2, 3]])],
    ['data that is not packed', png(1, 1, [[0, 1, 2, 3]]).map((byte, at) => (at > 40 && at < 50 ? 7 : byte))],
    ['an empty file after the signature', bytesOf('iVBORw0KGgo=')],
  ])('%s gives nothing', async (_kind, file) => {
    expect(await decodeImage(file)).toBeNull();
  });
});

describe('the dominant colours are computed from the pixels', () => {
  const named = async (base64: string): Promise<[string, number][] | undefined> => {
    const pixels = await decodeImage(bytesOf(base64));
    return pixels === null ? undefined : dominantColours(pixels).colours.map(({ en, share }) => [en, share]);
  };

  test.each(['BASELINE', 'PROGRESSIVE', 'UNSAMPLED'] as const)('of a JPEG (%s)', async (name) => {
    expect(await named(PICTURES[name])).toEqual([
      ['red', 0.75],
      ['blue', 0.25],
    ]);
  });

  test('of a grey JPEG', async () => {
    expect(await named(PICTURES.GREY)).toEqual([['grey', 1]]);
  });

  test.each([
    [[255, 255, 255], 'white'],
    [[0, 0, 0], 'black'],
    [[128, 128, 128], 'grey'],
    [[230, 20, 20], 'red'],
    [[255, 140, 0], 'orange'],
    [[120, 70, 20], 'brown'],
    [[250, 230, 30], 'yellow'],
    [[30, 160, 60], 'green'],
    [[90, 210, 240], 'cyan'],
    [[30, 60, 200], 'blue'],
    [[120, 30, 160], 'purple'],
    [[255, 105, 180], 'pink'],
  ])('%j is called %s', async (colour, name) => {
    const pixels = await decodeImage(png(1, 1, [[0, ...colour]]));
    expect(pixels && dominantColours(pixels).colours.map(({ en }) => en)).toEqual([name]);
  });

  test('damaged files never throw', async () => {
    const files = Object.values(PICTURES)
      .map(bytesOf)
      .concat(
        png(
          4,
          4,
          Array.from({ length: 4 }, () => [4, ...Array(12).fill(90)]),
        ),
      );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.nat(),
        fc.integer({ min: 0, max: 255 }),
        fc.nat(),
        async (file, at, value, cut) => {
          const damaged = file.slice(0, cut % 3 === 0 ? cut % file.length : file.length);
          if (damaged.length > 0) damaged[at % damaged.length] = value;
          imageHeader(damaged);
          await decodeImage(damaged);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('large pictures hold nobody up', () => {
  const large = png(
    2000,
    2000,
    Array.from({ length: 2000 }, () => [1, ...Array(2000).fill(0)]),
    { colourType: 0 },
  );

  test('a PNG is decoded in slices', async () => {
    expect(await turnsWhile(decodeImage(large))).toBeGreaterThan(20);
  });

  test('a JPEG is decoded in slices', async () => {
    const file = plainJpeg(4000, 1, [1]);
    expect(await turnsWhile(decodeImage(file))).toBeGreaterThan(100);
    expect(await decodeImage(file)).toMatchObject({ width: 500, height: 500 });
  });

  test('a JPEG that gives the same component again and again is not read to its end', async () => {
    expect(await decodeImage(plainJpeg(64, 3, [1, 2, 3]))).not.toBeNull();
    expect(await decodeImage(plainJpeg(64, 3, [1, 1, 1, 1, 2, 3]))).toBeNull();
  });

  test('pictures that come at once are decoded one after the other', async () => {
    const order: number[] = [];
    const files = [large, png(1, 1, [[0, 1, 2, 3]]), new Uint8Array(), png(1, 1, [[0, 4, 5, 6]])];
    const decoded = await Promise.all(
      files.map(async (file, at) => {
        const pixels = await decodeImage(file);
        order.push(at);
        return pixels?.rgba.length;
      }),
    );
    expect([order, decoded]).toEqual([
      [0, 1, 2, 3],
      [500 * 500 * 4, 4, undefined, 4],
    ]);
  });
});

describe('a picture in the conversation', () => {
  const withPicture = (base64: string, text?: string, mimeType = 'image/jpeg') => ({
    role: 'user',
    parts: [{ inlineData: { mimeType, data: base64 } }, ...(text === undefined ? [] : [{ text }])],
  });
  const limits = 'As a set of rules I cannot tell what it shows.';

  test('is described by format, size and colours', async () => {
    const said = await ask([withPicture(PICTURES.UNSAMPLED, 'What is in this picture?')]);
    expect(said.text).toBe(
      `This is a JPEG picture of 64 x 48 pixels. Its main colours: red (#c91e1c, 75%) and blue (#1d3bc8, 25%).\n\n${limits}`,
    );
  });

  test('is described in Japanese', async () => {
    const said = await ask([withPicture(PICTURES.UNSAMPLED, 'この画像は何？')]);
    expect(said.text).toBe(
      '64 x 48ピクセルのJPEG画像です。主な色は赤（#c91e1c、75%）、青（#1d3bc8、25%）です。\n\nルールの集まりなので、何が写っているかまでは分かりません。',
    );
  });

  test('without words is described too, and stays known for a later question', async () => {
    expect((await ask([withPicture(PICTURES.GREY)])).text).toMatch(/^This is a JPEG picture/);
    expect(
      (await ask([withPicture(PICTURES.GREY), model('…'), user('What colours does the picture have?')])).text,
    ).toMatch(/grey \(#606060, 100%\)/);
  });

  test('of a format without a decoder is described by what is known', async () => {
    const said = await ask([withPicture(PICTURES.WEBP_LOSSY, 'describe this', 'image/webp')]);
    expect(said.text).toBe(
      `This is a WebP picture of 64 x 48 pixels. I cannot compute its colours (WebP data I cannot decode).\n\n${limits}`,
    );
  });

  test('of such a format is described fully with a decoder of your own', async () => {
    const decode = async () => ({ width: 1, height: 1, rgba: new Uint8Array([255, 255, 255, 255]) });
    const said = await ask([withPicture(PICTURES.WEBP_LOSSY, 'describe this')], undefined, {
      decodeImage: decode,
    });
    expect(said.text).toBe(
      `This is a WebP picture of 64 x 48 pixels. Its main colours: white (#ffffff, 100%).\n\n${limits}`,
    );
  });

  test('that is none is told', async () => {
    expect((await ask([withPicture('bm90IGEgcGljdHVyZQ==', 'what is this?')])).text).toMatch(
      /^I could not read this picture/,
    );
    expect((await ask([withPicture('%%%', 'what is this?')])).text).toMatch(/^I could not read this picture/);
  });

  test('does not hide a request in the same message', async () => {
    const said = await ask([withPicture(PICTURES.GREY, 'count to 3')]);
    expect(said.text).toBe('1 2 3');
  });

  test('transparent parts are told', async () => {
    const file = png(2, 1, [[0, 255, 0, 0, 255, 0, 0, 0, 0]], { colourType: 6 });
    const said = await ask([withPicture(Buffer.from(file).toString('base64'), 'describe this', 'image/png')]);
    expect(said.text).toBe(
      `This is a PNG picture of 2 x 1 pixels. Its main colours: red (#ff0000, 50%). 50% of it is transparent.\n\n${limits}`,
    );
  });
});
