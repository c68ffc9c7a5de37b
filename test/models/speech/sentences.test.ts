import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Sentences } from '../../../src/models/speech/sentences.ts';

function cut(...pieces: string[]): string[] {
  const sentences = new Sentences();
  return [...pieces.flatMap((piece) => sentences.push(piece)), ...sentences.end()];
}

test.each([
  ['one by one', ['It is sunny. ', 'Take a hat.'], ['It is sunny.', 'Take a hat.']],
  ['numbers stay whole', ['It costs 22', '.5 dollars', '. Really.'], ['It costs 22.5 dollars.', 'Really.']],
  ['Japanese', ['晴れです。', '帽子をどうぞ。'], ['晴れです。', '帽子をどうぞ。']],
  ['Markdown', ['**Tokyo**: `22` degrees, [more](https://x.y/z).\n'], ['Tokyo: 22 degrees, more.']],
  ['a list', ['- one\n', '- two\n'], ['one', 'two']],
  ['nothing to say', ['---\n', ' … \n'], []],
])('a text is cut into what can be spoken: %s', (_name, pieces, expected) => {
  expect(cut(...pieces)).toEqual(expected);
});

test('a sentence is given as soon as the next one begins', () => {
  const sentences = new Sentences();
  expect(sentences.push('It is sunny. T')).toEqual(['It is sunny.']);
});

test('a sentence without an end is spoken in pieces that end between words', () => {
  const words = Array.from({ length: 100 }, (_, i) => `word${i}`);
  const pieces = cut(...words.map((word) => `${word} `));
  expect(pieces.join(' ').split(' ')).toEqual(words);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(240);
});

test('however a text is cut on its way, the same words are spoken', () => {
  const texts = fc.array(fc.constantFrom('Hi', ' there', '. ', 'Ok', '? ', ' 3', '.5', '\n', '晴れ', '。'), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(texts, (pieces) => {
      const words = (sentences: string[]) => sentences.join(' ').match(/[\p{L}\p{N}]/gu);
      expect(words(cut(...pieces))).toEqual(words(cut(pieces.join(''))));
    }),
  );
});
