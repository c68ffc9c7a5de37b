import { describe, expect, test } from 'vitest';
import { plainError } from '../../demo/web/src/errors/plain-words.ts';
import { en } from '../../demo/web/src/i18n/en.ts';
import { ja } from '../../demo/web/src/i18n/ja.ts';
import { PANEL_TEXTS } from '../../demo/web/src/i18n/panels.ts';
import { inJapanese } from '../../demo/web/src/i18n/server-texts-ja.ts';
import {
  APPROVAL_TIMED_OUT,
  ARGUMENTS_UNREADABLE,
  CANCELLED,
  INTERRUPTED,
  OUTCOME_UNKNOWN,
  outputTimedOut,
  QUESTION_TIMED_OUT,
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
    APPROVAL_TIMED_OUT,
    ARGUMENTS_UNREADABLE,
    CANCELLED,
    INTERRUPTED,
    NOT_COMPLETED,
    OUTCOME_UNKNOWN,
    QUESTION_TIMED_OUT,
    SIGNED_OUT,
    SUPERSEDED,
    'The call could not be stored, so its tool did not run.',
    'The approval request could not be stored, so the tool did not run.',
    'The agent no longer has a tool named "get_weather".',
    outputTimedOut('get_weather'),
    stateConflict('get_weather'),
    toolTimedOut('get_weather'),
  ])('says in Japanese how a call ended: %s', (errorText) => {
    expect(inJapanese(errorText)?.replace('get_weather', '')).toMatch(/^[^a-z]+$/);
  });

  test.each([
    'a-1.0.0 could not be downloaded: https://registry.example.com cannot be reached (ENOTFOUND).',
    'a-1.0.0 could not be downloaded: https://registry.example.com answered 404.',
    'The download of a-1.0.0 broke off (terminated).',
    'a-1.0.0 was downloaded with a wrong checksum, so it is not used.',
    'a-1.0.0 lacks files that are needed.',
  ])('says in Japanese why voice could not be downloaded: %s', (message) => {
    const text = PANEL_TEXTS.ja.voice.fetchReason(message);
    expect(text.replace(/https:[\w./]+|a-1\.0\.0/, '')).toMatch(/^[^a-z]+$/);
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
