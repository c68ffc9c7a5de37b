import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DecodeImage, dominantColours } from '../../../src/models/embedded/colours.ts';
import { imageHeader } from '../../../src/models/embedded/image-header.ts';
import { PICTURES } from './pictures.ts';
import { ask, model, user } from './talk.ts';

const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'));

/** The beginning of a PNG file: its signature and its first chunk. */
function pngHead(width: number, height: number): Uint8Array {
  const head = Buffer.alloc(25);
  head.writeUInt32BE(13);
  head.write('IHDR', 4, 'latin1');
  head.writeUInt32BE(width, 8);
  head.writeUInt32BE(height, 12);
  return new Uint8Array(Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), head]));
}

/** A decoder that returns these pixels for every picture, one row of them. */
const decoderOf =
  (...pixels: number[][]): DecodeImage =>
  async () => ({ width: pixels.length, height: 1, rgba: new Uint8Array(pixels.flat()) });

const RED = [201, 30, 28, 255];
const BLUE = [29, 59, 200, 255];

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
    expect(imageHeader(pngHead(3, 2))).toEqual({ format: 'PNG', width: 3, height: 2 });
  });

  test('damaged files never throw', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(pngHead(4, 4), ...Object.values(PICTURES).map(bytesOf)),
        fc.nat(),
        fc.integer({ min: 0, max: 255 }),
        fc.nat(),
        (file, at, value, cut) => {
          const damaged = file.slice(0, cut % 3 === 0 ? cut % file.length : file.length);
          if (damaged.length > 0) damaged[at % damaged.length] = value;
          imageHeader(damaged);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('other bytes have none', () => {
    expect(imageHeader(new Uint8Array())).toBeNull();
    expect(imageHeader(new TextEncoder().encode('hello, this is no picture at all, just words'))).toBeNull();
  });
});

describe('the dominant colours are computed from the pixels', () => {
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
  ])('%j is called %s', (colour, name) => {
    const pixels = { width: 1, height: 1, rgba: new Uint8Array([...colour, 255]) };
    expect(dominantColours(pixels).colours.map(({ name }) => name)).toEqual([name]);
  });
});

describe('a picture in the conversation', () => {
  const withPicture = (base64: string, text?: string, mimeType = 'image/jpeg') => ({
    role: 'user',
    parts: [{ inlineData: { mimeType, data: base64 } }, ...(text === undefined ? [] : [{ text }])],
  });
  const limits = 'As a set of rules I cannot tell what it shows.';

  const twoColours = { decodeImage: decoderOf(RED, RED, RED, BLUE) };

  test('is described by format, size and colours', async () => {
    const texts = await ask(
      [withPicture(PICTURES.UNSAMPLED, 'What is in this picture?')],
      undefined,
      twoColours,
    );
    expect(texts.text).toBe(
      `This is a JPEG picture of 64 x 48 pixels. Its main colours: red (#c91e1c, 75%) and blue (#1d3bc8, 25%).\n\n${limits}`,
    );
  });

  test('is described in Japanese', async () => {
    const texts = await ask([withPicture(PICTURES.UNSAMPLED, 'この画像は何？')], undefined, twoColours);
    expect(texts.text).toBe(
      '64 x 48ピクセルのJPEG画像です。主な色は赤（#c91e1c、75%）、青（#1d3bc8、25%）です。\n\nルールの集まりなので、何が写っているかまでは分かりません。',
    );
  });

  test('without words is described too, and stays known for a later question', async () => {
    const grey = { decodeImage: decoderOf([96, 96, 96, 255]) };
    expect((await ask([withPicture(PICTURES.GREY)], undefined, grey)).text).toMatch(
      /^This is a JPEG picture/,
    );
    const contents = [withPicture(PICTURES.GREY), model('…'), user('What colours does the picture have?')];
    expect((await ask(contents, undefined, grey)).text).toMatch(/grey \(#606060, 100%\)/);
  });

  test.each([
    ['JPEG', PICTURES.BASELINE, 64, 48],
    ['WebP', PICTURES.WEBP_LOSSY, 64, 48],
    ['GIF', PICTURES.GIF, 20, 10],
  ])(
    'a %s is described by format and size where there is no decoder',
    async (format, base64, width, height) => {
      const texts = await ask([withPicture(base64, 'describe this')]);
      expect(texts.text).toBe(
        `This is a ${format} picture of ${width} x ${height} pixels. I cannot compute its colours (${format} data I cannot decode).\n\n${limits}`,
      );
    },
  );

  test('that is none is told', async () => {
    expect((await ask([withPicture('bm90IGEgcGljdHVyZQ==', 'what is this?')])).text).toMatch(
      /^I could not read this picture/,
    );
    expect((await ask([withPicture('%%%', 'what is this?')])).text).toMatch(/^I could not read this picture/);
  });

  test('does not hide a request in the same message', async () => {
    const texts = await ask([withPicture(PICTURES.GREY, 'count to 3')]);
    expect(texts.text).toBe('1 2 3');
  });

  test('transparent parts are told', async () => {
    const file = Buffer.from(pngHead(2, 1)).toString('base64');
    const texts = await ask([withPicture(file, 'describe this', 'image/png')], undefined, {
      decodeImage: decoderOf([255, 0, 0, 255], [0, 0, 0, 0]),
    });
    expect(texts.text).toBe(
      `This is a PNG picture of 2 x 1 pixels. Its main colours: red (#ff0000, 50%). 50% of it is transparent.\n\n${limits}`,
    );
  });
});
