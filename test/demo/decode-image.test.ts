import { crc32, deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createImageDecoder } from '../../demo/server/decode-image.ts';
import { dominantColours } from '../../src/models/embedded/colours.ts';
import { PICTURES } from '../models/embedded/pictures.ts';

const decode = createImageDecoder();

const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'));

/** A PNG file from rows that each begin with their filter byte. */
function png(
  width: number,
  height: number,
  rows: number[][],
  { depth = 8, colourType = 2, palette = [] as number[], transparency = [] as number[] } = {},
): Uint8Array {
  const chunk = (name: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
    const file = Buffer.alloc(body.length + 8);
    file.writeUInt32BE(data.length);
    body.copy(file, 4);
    file.writeUInt32BE(crc32(body), body.length + 4);
    return file;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([depth, colourType], 8);
  return new Uint8Array(
    Buffer.concat([
      Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
      chunk('IHDR', head),
      ...(palette.length > 0 ? [chunk('PLTE', Buffer.from(palette))] : []),
      ...(transparency.length > 0 ? [chunk('tRNS', Buffer.from(transparency))] : []),
      chunk('IDAT', deflateSync(Buffer.from(rows.flat()))),
      chunk('IEND', Buffer.alloc(0)),
    ]),
  );
}

describe('pixels of a PNG', () => {
  test.each<[kind: string, file: Uint8Array, pixels: number[]]>([
    ['colours', png(2, 1, [[0, 255, 0, 0, 0, 0, 255]]), [255, 0, 0, 255, 0, 0, 255, 255]],
    ['an alpha channel', png(1, 1, [[0, 1, 2, 3, 4]], { colourType: 6 }), [1, 2, 3, 4]],
    ['grey', png(2, 1, [[0, 0, 200]], { colourType: 0 }), [0, 0, 0, 255, 200, 200, 200, 255]],
    ['grey with alpha', png(1, 1, [[0, 7, 9]], { colourType: 4 }), [7, 7, 7, 9]],
    ['sixteen bits', png(1, 1, [[0, 0xff, 0xff, 0x80, 0x80, 0, 0]], { depth: 16 }), [255, 128, 0, 255]],
    [
      'a palette with transparency',
      png(2, 1, [[0, 0b00010000]], {
        colourType: 3,
        depth: 4,
        palette: [1, 2, 3, 4, 5, 6],
        transparency: [0],
      }),
      [4, 5, 6, 255, 1, 2, 3, 0],
    ],
  ])('with %s are those of the file', async (_kind, file, pixels) => {
    expect([...((await decode(file))?.rgba ?? [])]).toEqual(pixels);
  });
});

describe('the colours of a picture', () => {
  const named = async (base64: string) => {
    const pixels = await decode(bytesOf(base64));
    return (
      pixels && dominantColours(pixels).colours.map(({ name, share }) => [name, Math.round(share * 100)])
    );
  };

  // Chroma at half size mixes the colours where they meet.
  test.each([
    ['BASELINE', 73],
    ['PROGRESSIVE', 73],
    ['UNSAMPLED', 75],
    ['WEBP_LOSSY', 73],
    ['WEBP_LOSSLESS', 75],
  ] as const)('are found in a JPEG or WebP (%s)', async (name, red) => {
    expect(await named(PICTURES[name])).toEqual([
      ['red', red],
      ['blue', 25],
    ]);
  });

  test.each([
    ['a grey JPEG', PICTURES.GREY, [['grey', 100]]],
    ['a GIF', PICTURES.GIF, [['green', 100]]],
  ] as const)('are found in %s', async (_kind, base64, colours) => {
    expect(await named(base64)).toEqual(colours);
  });
});

test('a large picture is returned reduced', async () => {
  const rows = Array.from({ length: 1000 }, () => [0, ...Array(1500).fill(200)]);
  const pixels = await decode(png(1500, 1000, rows, { colourType: 0 }));
  expect({ ...pixels, rgba: new Set(pixels?.rgba) }).toEqual({
    width: 500,
    height: 333,
    rgba: new Set([200, 255]),
  });
});

test.each<[kind: string, file: Uint8Array]>([
  ['truncated data', png(20, 20, [[0, 1, 2, 3]])],
  ['a size beyond reason', png(100_000, 100_000, [[0, 1, 2, 3]])],
  ['nothing after the signature', bytesOf('iVBORw0KGgo=')],
  ['no bytes', new Uint8Array()],
  ['words', new TextEncoder().encode('this is no picture at all, just words')],
  [
    'a drawing in SVG',
    new TextEncoder().encode('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
  ],
])('a file with %s gives nothing', async (_kind, file) => {
  expect(await decode(file)).toBeNull();
});

test('damaged files never reject', async () => {
  const files = [
    png(4, 4, Array(4).fill([4, ...Array(12).fill(90)])),
    ...Object.values(PICTURES).map(bytesOf),
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...files),
      fc.nat(),
      fc.integer({ min: 0, max: 255 }),
      fc.nat(),
      async (file, at, value, cut) => {
        const damaged = file.slice(0, cut % 3 === 0 ? cut % file.length : file.length);
        if (damaged.length > 0) damaged[at % damaged.length] = value;
        await decode(damaged);
      },
    ),
    { numRuns: 200 },
  );
});

test('pictures that come at once are decoded one after the other', async () => {
  const order: number[] = [];
  const large = png(2000, 2000, Array(2000).fill([1, ...Array(2000).fill(0)]), { colourType: 0 });
  const files = [large, png(1, 1, [[0, 1, 2, 3]]), new Uint8Array(), png(1, 1, [[0, 4, 5, 6]])];
  const sizes = await Promise.all(
    files.map(async (file, at) => {
      const pixels = await decode(file);
      order.push(at);
      return pixels?.rgba.length;
    }),
  );
  expect({ order, sizes }).toEqual({ order: [0, 1, 2, 3], sizes: [500 * 500 * 4, 4, undefined, 4] });
});
