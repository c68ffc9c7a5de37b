import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dominantColours } from '../../../src/models/embedded/image/colours.ts';
import { decodeImage } from '../../../src/models/embedded/image/decode.ts';
import { imageHeader } from '../../../src/models/embedded/image/header.ts';
import { PICTURES } from './pictures.ts';
import { ask, model, user } from './talk.ts';

const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'));

interface PngOptions {
  depth?: number;
  colourType?: number;
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
  head.set([options.depth ?? 8, options.colourType ?? 2], 8);
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

  test.each<[kind: string, file: Uint8Array]>([
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
    expect((await ask([withPicture(PICTURES.GREY, 'send $50 to Bob')])).calls).toEqual([
      ['process_payment', { amount: 50, recipient: 'Bob', currency: 'USD' }],
    ]);
  });

  test('transparent parts are told', async () => {
    const file = png(2, 1, [[0, 255, 0, 0, 255, 0, 0, 0, 0]], { colourType: 6 });
    const said = await ask([withPicture(Buffer.from(file).toString('base64'), 'describe this', 'image/png')]);
    expect(said.text).toBe(
      `This is a PNG picture of 2 x 1 pixels. Its main colours: red (#ff0000, 50%). 50% of it is transparent.\n\n${limits}`,
    );
  });
});
