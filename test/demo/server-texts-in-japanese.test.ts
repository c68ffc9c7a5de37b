import { describe, expect, test } from 'vitest';
import { plainError } from '../../demo/web/src/errors/plain-words.ts';
import { en } from '../../demo/web/src/i18n/en.ts';
import { ja } from '../../demo/web/src/i18n/ja.ts';
import { PANEL_TEXTS } from '../../demo/web/src/i18n/panels.ts';
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
import { modelErrorText, NOT_COMPLETED, SERVER_FAULT } from '../../src/server/conversation/state/errors.ts';
import type { AuditKind } from '../../src/server/store/store.ts';

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
    'The call could not be stored, so its tool did not run.',
    'The approval request could not be stored, so the tool did not run.',
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

test.each([modelErrorText('STORE', ''), SERVER_FAULT])(
  'an answer failed because of the server, and the page does not blame the model: %s',
  (text) => {
    for (const error of [new Error(text), Object.assign(new Error(text), { code: 'model_error' })]) {
      expect(plainError(error, en.errors).title).toBe(en.errors.serverTitle);
      expect(plainError(error, ja.errors)).toMatchObject({
        title: ja.errors.serverTitle,
        text: ja.errors.serverText,
      });
    }
  },
);

test('the approval log of the page has a name for every kind of line that the server writes', () => {
  const kinds: Record<AuditKind, true> = {
    issued: true,
    approved: true,
    answered: true,
    denied: true,
    expired: true,
    consumed: true,
    refused: true,
  };
  expect(Object.keys(PANEL_TEXTS.en.audit.kind).sort()).toEqual(Object.keys(kinds).sort());
});
