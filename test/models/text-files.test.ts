import type { Content, Part } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { seedOf } from '../../src/models/live/history.ts';
import { isTextType, readable, readableLive } from '../../src/models/text-files.ts';

const inline = (mimeType: string, content: string, displayName?: string): Part => ({
  inlineData: {
    mimeType,
    data: Buffer.from(content).toString('base64'),
    ...(displayName === undefined ? {} : { displayName }),
  },
});
const pdf = inline('application/pdf', '%PDF-', 'a.pdf');
const csv = inline('text/csv', 'a,b\n1,2', 'a.csv');
const picture = inline('image/png', 'png');
const csvText = { text: '[file a.csv, text/csv]\na,b\n1,2\n[end of the file]' };

describe('files in requests to models', () => {
  test.each([
    ['text/csv', true],
    ['application/json', true],
    ['application/ld+json', true],
    ['image/svg+xml', true],
    ['application/pdf', false],
    ['image/png', false],
    ['audio/wav', false],
  ])('%s is text: %s', (type, expected) => {
    expect(isTextType(type)).toBe(expected);
  });

  test('a text file is a text that names it, and every other part stays as it is', () => {
    expect([csv, pdf, picture, { text: 'hi' }].map(readable)).toEqual([
      csvText,
      pdf,
      picture,
      { text: 'hi' },
    ]);
    expect(readable(inline('text/plain', 'x'))).toEqual({
      text: '[file without a name, text/plain]\nx\n[end of the file]',
    });
  });

  test('a live session gets pictures and texts, and is told of a file that it cannot read', () => {
    const content: Content = { role: 'user', parts: [csv, pdf, picture, { text: 'What is this?' }] };
    const reported = {
      text: '[The user attached a.pdf (application/pdf). This live session cannot read it.]',
    };
    expect(readableLive(content)).toEqual({
      role: 'user',
      parts: [csvText, reported, picture, { text: 'What is this?' }],
    });
    // The same when a new session gets the history. What the user spoke is left out of it.
    const speech = inline('audio/wav', 'RIFF');
    expect(seedOf([{ role: 'user', parts: [...(content.parts ?? []), speech] }])).toEqual([
      readableLive(content),
    ]);
  });
});
