import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { cutText, heardLength } from '../../src/server/output/heard-text.ts';
import { textOf } from '../../src/server/output/output.ts';

describe('what was heard of a message', () => {
  it.each([
    ['One two three four.', 0, ''],
    ['One two three four.', 0.1, ''],
    ['One two three four.', 0.2, 'One'],
    ['One two three four.', 0.5, 'One two'],
    ['One two three four.', 0.99, 'One two three'],
    ['One two three four.', 1, 'One two three four.'],
    ['One two three four.', 7, 'One two three four.'],
    ['今日はとても良い天気ですね、散歩に行きましょうか。', 0.5, '今日はとても良い天気です'],
    ['😀😀😀😀', 0.4, '😀'],
    ['Hello', 0.5, ''],
    ['', 0.5, ''],
  ])('[B28a] of %j the share %d is %j', (text, share, heard) => {
    expect(text.slice(0, heardLength(text, share))).toBe(heard);
  });

  it('[B28a] is what is left of its text, whatever stands between', () => {
    const message: Message = {
      id: 'm',
      role: 'assistant',
      parts: [
        { type: 'text', text: 'One ' },
        { type: 'file', url: '/f', mediaType: 'image/png' },
        { type: 'text', text: 'two three' },
        { type: 'text', text: ' four' },
      ],
    };
    cutText(message, 7);
    expect(message.parts).toEqual([
      { type: 'text', text: 'One ' },
      { type: 'file', url: '/f', mediaType: 'image/png' },
      { type: 'text', text: 'two' },
    ]);
    expect(textOf(message)).toBe('One two');
  });
});
