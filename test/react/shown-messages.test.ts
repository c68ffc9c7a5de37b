import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { ShownMessages } from '../../src/react/shown-messages.ts';

const texts = (id: string): Message => ({ id, role: 'user', parts: [{ type: 'text', text: id }] });
const answer = (id: string, text: string, metadata?: Message['metadata']): Message => ({
  id,
  role: 'assistant',
  parts: [{ type: 'text', text, state: 'done' }],
  ...(metadata ? { metadata } : {}),
});
const cut = { interrupted: true as const, cutOff: true as const };

describe('[R5] after a reset a page shows', () => {
  test.each<[string, Message[], Message[], Message[]]>([
    [
      'what the server has',
      [texts('u1'), answer('a1', 'One')],
      [texts('u1'), answer('a1', 'One two.')],
      [texts('u1'), answer('a1', 'One two.')],
    ],
    [
      'what it showed of an answer of which the server kept less',
      [texts('u1'), answer('a1', 'One two')],
      [texts('u1'), answer('a1', 'One', cut)],
      [texts('u1'), answer('a1', 'One two', cut)],
    ],
    [
      'nothing of an answer that was taken back elsewhere',
      [texts('u1'), answer('a1', 'One'), texts('u2'), answer('a2', 'Two')],
      [texts('u1'), answer('a3', 'Other')],
      [texts('u1'), answer('a3', 'Other')],
    ],
    [
      'what the person stopped as it was stored',
      [texts('u1'), answer('a1', 'One two three')],
      [texts('u1'), answer('a1', 'One two', { interrupted: true })],
      [texts('u1'), answer('a1', 'One two', { interrupted: true })],
    ],
  ])('%s', (_what, messages, known, expected) => {
    const chat = { messages };
    new ShownMessages(chat).reset(known);
    expect(chat.messages).toEqual(expected);
  });
});

test('[B28b] of a message that was interrupted, only what was heard stays', () => {
  const chat = { messages: [texts('u1'), answer('a1', 'One two')] };
  chat.messages[1]?.parts.push({ type: 'text', text: ' three', state: 'done' });
  const shown = new ShownMessages(chat);
  const cut = (length: number) => {
    shown.queue({ type: 'data-heard', data: { messageId: 'a1', length }, transient: true }, undefined);
    shown.showQueued([]);
  };
  cut(9);
  expect(chat.messages[1]?.parts.map((part) => (part.type === 'text' ? part.text : ''))).toEqual([
    'One two',
    ' t',
  ]);
  cut(3);
  expect(chat.messages[1]?.parts.map((part) => (part.type === 'text' ? part.text : ''))).toEqual(['One']);
});
