import { describe, expect, test } from 'vitest';
import { plainError } from '../../demo/web/src/errors/plain-words.ts';
import { ja } from '../../demo/web/src/i18n/ja.ts';
import { inJapanese } from '../../demo/web/src/i18n/server-texts-ja.ts';
import {
  ARGUMENTS_UNREADABLE,
  CANCELLED,
  INTERRUPTED,
  outputTimedOut,
  SIGNED_OUT,
  SUPERSEDED,
  stateConflict,
  toolTimedOut,
} from '../../src/protocol/index.ts';
import { modelErrorText, NOT_COMPLETED } from '../../src/server/conversation/state/errors.ts';

describe('the Japanese page', () => {
  test.each([
    ...['401', '403', '404', '418', '429', '503', 'QUOTA', 'UNREACHABLE', 'SILENT', 'INCOMPLETE', 'SETUP'],
    ...['UNREADABLE', 'NO_CREDENTIALS', 'EMPTY_RESPONSE', 'SAFETY', 'MAX_TOKENS', 'UNKNOWN_ERROR'],
  ])('says in Japanese what the server says of a model that failed with %s', (code) => {
    const { text } = plainError(new Error(modelErrorText(code, 'in English')), ja.errors);
    expect(text).toMatch(/^[^a-z]*$/);
    expect(text).not.toBe(ja.errors.modelText);
  });

  test.each([
    ARGUMENTS_UNREADABLE,
    CANCELLED,
    INTERRUPTED,
    NOT_COMPLETED,
    SIGNED_OUT,
    SUPERSEDED,
    outputTimedOut('get_weather'),
    stateConflict('get_weather'),
    toolTimedOut('get_weather'),
  ])('says in Japanese how a call ended: %s', (errorText) => {
    expect(inJapanese(errorText)?.replace('get_weather', '')).toMatch(/^[^a-z]+$/);
  });

  test('keeps words that it does not know for the details', () => {
    expect(plainError(new Error('Something else.'), ja.errors)).toMatchObject({
      text: ja.errors.modelText,
      details: 'Something else.',
    });
  });
});
