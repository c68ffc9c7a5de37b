import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../tools/location/texts/index.ts';
import { SCORES } from '../../tools/music/web/score.ts';
import { TOOLS } from '../../tools/registry.ts';
import { plainError } from '../src/errors/plain-words.ts';
import { en } from '../src/i18n/en.ts';
import { ja } from '../src/i18n/ja.ts';
import { languages } from '../src/i18n/language.tsx';
import { PANEL_TEXTS } from '../src/i18n/panels.ts';
import { pictureType } from '../src/images/kind.ts';
import { fittingSize, hasNoHoles } from '../src/images/shrink.ts';
import { byDay } from '../src/sessions/days.ts';
import { failureText } from '../src/tools/failure-text.ts';
import { PAGE_TOOLS } from '../src/tools/page-tools.tsx';

/** The paths of all texts in a catalogue; functions with the number of their parameters. */
function shape(table: object, path = ''): string[] {
  return Object.entries(table).flatMap(([name, value]) => {
    const at = `${path}.${name}`;
    if (typeof value === 'function') return [`${at}(${value.length})`];
    return typeof value === 'object' ? shape(value, at) : [at];
  });
}

describe('the languages', () => {
  test('say the same things', () => {
    expect(shape(ja)).toEqual(shape(en));
    expect(shape(PANEL_TEXTS.ja)).toEqual(shape(PANEL_TEXTS.en));
    for (const { words } of PAGE_TOOLS) expect(shape(words.ja)).toEqual(shape(words.en));
    expect(languages.map(({ name }) => name)).toEqual([en.languageName, ja.languageName]);
  });

  test('leave nothing unsaid, and every place of a sentence is filled in both', () => {
    const tables = [[en, ja], ...PAGE_TOOLS.map(({ words }) => [words.en, words.ja])];
    const places = (table: object) =>
      JSON.stringify(table)
        .match(/\{\w+\}/g)
        ?.sort();
    for (const [english = {}, japanese = {}] of tables) expect(places(japanese)).toEqual(places(english));
    expect(JSON.stringify(tables)).not.toContain('""');
  });
});

test('the page knows every tool of the registry', () => {
  expect(PAGE_TOOLS.length).toBe(TOOLS.length);
});

describe('errors in plain words', () => {
  const plain = (error: Error) => {
    const { title, canRetry, retryAfterMs, details } = plainError(error, en.errors);
    return [title, canRetry, retryAfterMs, details];
  };
  const wire = (code: string, extra: object = {}) =>
    Object.assign(new Error('said the server'), { code, ...extra });

  test.each([
    [
      'rate_limited',
      ['Too many requests', true, 4000, 'rate_limited: said the server'],
      { retryAfterMs: 4000 },
    ],
    ['model_error', ['The model could not answer', true, null, 'model_error: said the server'], {}],
    [
      'model_not_configured',
      ['The model is not configured', false, null, 'model_not_configured: said the server'],
      {},
    ],
    ['bad_image', ['The file was not accepted', false, null, 'bad_image: said the server'], {}],
    ['bad_file', ['The file was not accepted', false, null, 'bad_file: said the server'], {}],
    [
      'answer_refused',
      ['Your decision was not accepted', false, null, 'answer_refused: said the server'],
      {},
    ],
    ['too_slow', ['Your connection is slow or was lost', true, null, 'too_slow: said the server'], {}],
    ['taken_over', ['Open elsewhere', true, null, 'taken_over: said the server'], {}],
    ['some_new_code', ['Not accepted', false, null, 'some_new_code: said the server'], {}],
  ])('%s', (code, expected, extra) => {
    expect(plain(wire(code, extra))).toEqual(expected);
  });

  test('a network that fails is a server that cannot be reached; other words are the server’s own', () => {
    expect(plain(new TypeError('Failed to fetch'))).toEqual([
      'The server can’t be reached',
      true,
      null,
      'Failed to fetch',
    ]);
    expect(plainError(new Error('The quota is used up.'), en.errors).text).toBe('The quota is used up.');
  });
});

test('an answer whose rest is gone was cut off: the server can be reached', () => {
  const error = new TypeError('The network connection came back, but the rest of the response is gone.');
  expect(plainError(error, en.errors)).toMatchObject({ title: 'Cut off', canRetry: true });
});

test('an answer that failed for want of a key cannot be tried again, in both languages', () => {
  const error = new Error('The model is not configured: this server has no key for the model provider.');
  expect(plainError(error, en.errors)).toMatchObject({
    title: 'The model is not configured',
    text: error.message,
    canRetry: false,
  });
  expect(plainError(error, ja.errors)).toMatchObject({
    title: 'モデルが設定されていません',
    text: 'モデルが設定されていません。このサーバーにはモデルの提供元のキーがありません。',
    canRetry: false,
  });
});

describe('a call that failed', () => {
  const texts = (errorText: string, tool = 'get_location') => {
    const part = { type: `tool-${tool}`, toolCallId: 'a', state: 'output-error' as const, errorText };
    return [failureText(part, 'en', en), failureText(part, 'ja', ja)];
  };

  test('says why in the language of the page, where the page itself gave the reason', () => {
    expect(texts('The user did not allow the browser to share the location.')).toEqual([
      'You did not allow the browser to share your location.',
      'ブラウザーでの位置情報の共有が許可されませんでした。',
    ]);
    for (const reason of Object.values(ERRORS)) expect(texts(reason)[1]).toMatch(/[ぁ-ん]/);
  });

  test('says what a payment lacks', () => {
    const text = 'Insufficient funds. Balance: 1000.00 USD, requested: 5000.50 USD.';
    expect(texts(text, 'process_payment')).toEqual([
      text,
      '残高が足りません。残高は 1000.00 USD、送金額は 5000.50 USD です。',
    ]);
  });

  test('says why in the words of the server, where they are its own', () => {
    expect(texts('The tide is out.')).toEqual(['The tide is out.', 'The tide is out.']);
  });
});

describe('pictures', () => {
  test('are known by their bytes, not by their names', () => {
    const bytes = (...values: number[]) => new Uint8Array(values);
    expect(pictureType(bytes(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a))).toBe('image/png');
    expect(pictureType(bytes(0xff, 0xd8, 0xff, 0xe0))).toBe('image/jpeg');
    expect(pictureType(bytes(0x52, 0x49, 0x46, 0x46, 1, 2, 3, 4, 0x57, 0x45, 0x42, 0x50))).toBe('image/webp');
    expect(pictureType(bytes(0x47, 0x49, 0x46, 0x38))).toBe(null);
    expect(pictureType(bytes())).toBe(null);
  });

  test('are never larger than models can use, and never made larger', () => {
    expect(fittingSize(3136, 1568)).toEqual({ width: 1568, height: 784 });
    expect(fittingSize(800, 600)).toEqual({ width: 800, height: 600 });
    expect(fittingSize(100_000, 1)).toEqual({ width: 1568, height: 1 });
  });

  test('stay transparent when they are', () => {
    expect(hasNoHoles(new Uint8ClampedArray([1, 2, 3, 255, 4, 5, 6, 255]))).toBe(true);
    expect(hasNoHoles(new Uint8ClampedArray([1, 2, 3, 255, 4, 5, 6, 254]))).toBe(false);
  });
});

test.each([1, 2] as const)('track %i fills its loop with notes that can be heard', (track) => {
  const { beats, voices } = SCORES[track];
  const notes = voices.flatMap((voice) => voice.notes);
  expect(notes.length).toBeGreaterThan(50);
  for (const { at, pitch, loudness } of notes) {
    expect(at).toBeGreaterThanOrEqual(0);
    expect(at).toBeLessThan(beats);
    expect(pitch).toBeLessThan(100);
    expect(loudness).toBeGreaterThan(0);
    expect(loudness).toBeLessThanOrEqual(1);
  }
});

test('conversations are sorted into today, yesterday and earlier, and days without any are left out', () => {
  const now = new Date(2026, 2, 1, 9);
  const entry = (id: string, updatedAt: Date) => ({
    id,
    title: null,
    createdAt: 0,
    updatedAt: updatedAt.getTime(),
    isWaiting: false,
    hasFailed: false,
  });
  const groups = byDay(
    [
      entry('a', new Date(2026, 2, 1, 0, 1)),
      entry('b', new Date(2026, 1, 28, 23, 59)),
      entry('c', new Date(2026, 1, 27)),
    ],
    now,
  );
  expect(groups.map(({ day, entries }) => [day, entries.map(({ id }) => id)])).toEqual([
    ['today', ['a']],
    ['yesterday', ['b']],
    ['earlier', ['c']],
  ]);
  expect(byDay([], now)).toEqual([]);
});
