import { describe, expect, test } from 'vitest';
import { questionOf, sentenceOf } from '../src/approval/question.ts';
import { reveal } from '../src/approval/reveal.ts';
import { decisionOf } from '../src/approval/shortcuts.ts';
import { en } from '../src/i18n/en.ts';
import { ja } from '../src/i18n/ja.ts';
import type { ToolPart } from '../src/tools/tool-part.ts';

const ask = (name: string, input: unknown, language: 'en' | 'ja' = 'en') =>
  sentenceOf(
    questionOf(
      { type: `tool-${name}`, toolCallId: 'c1', state: 'approval-requested', input },
      language === 'en' ? en : ja,
      language,
    ),
  );

describe('the question of a card', () => {
  test('names the amount and the recipient', () => {
    expect(ask('process_payment', { amount: 50, recipient: 'Alice', currency: 'USD' })).toBe(
      'Send $50.00 to Alice.',
    );
    expect(ask('process_payment', { amount: 1234.5, recipient: '花子', currency: 'EUR' }, 'ja')).toBe(
      '花子 さんに €1,234.50 を送金します。',
    );
    expect(ask('process_payment', { amount: 5, recipient: 'Bob', currency: 'no such' })).toBe(
      'Send 5 no such to Bob.',
    );
  });

  test.each([
    [{ amount: 50, recipient: 'Alice', currency: 'USD', note: 'rent' }, ['recipient', 'amount', 'currency']],
    // The sentence rounds this amount, so the details show it in full.
    [{ amount: 0.001, recipient: 'Alice' }, ['recipient']],
    [{ amount: 1.5, recipient: 'Alice', currency: 'JPY' }, ['recipient', 'currency']],
    [{ amount: 50, recipient: 'Alice', currency: { code: 'EUR' } }, ['recipient', 'amount']],
    [{ amount: '50', recipient: 'Alice' }, []],
  ])('names the arguments that it tells without loss: %o', (input, inSentence) => {
    const call = { type: 'tool-process_payment', toolCallId: 'c1', state: 'approval-requested' } as const;
    expect(questionOf({ ...call, input }, en, 'en').inSentence).toEqual(inSentence);
  });

  test('says no more than it knows', () => {
    expect(ask('process_payment', { amount: '50' })).toBe('Send money.');
    expect(ask('get_location', {})).toBe('Share your current location with the assistant.');
    expect(ask('launch_rocket', { count: 3 })).toBe('Run launch_rocket.');
    expect(ask('process_payment', null)).toBe('Send money.');
  });

  test('is about the call inside a confirmation', () => {
    const input = {
      originalFunctionCall: { name: 'process_payment', args: { amount: 5, recipient: 'Bob' } },
    };
    expect(ask('adk_request_confirmation', input)).toBe('Send $5.00 to Bob.');
  });

  test('is told as done once it is done, and only then', () => {
    const tell = (part: Partial<ToolPart>, language: 'en' | 'ja' = 'en') => {
      const input = { amount: 30, recipient: 'Alice', currency: 'USD' };
      const call: ToolPart = {
        type: 'tool-process_payment',
        toolCallId: 'c1',
        state: 'output-available',
        input,
      };
      return sentenceOf(questionOf({ ...call, ...part }, language === 'en' ? en : ja, language));
    };
    expect(tell({ output: { success: true } })).toBe('Sent $30.00 to Alice.');
    expect(tell({ output: { success: true } }, 'ja')).toBe('Alice さんに $30.00 を送金しました。');
    expect(tell({ type: 'tool-launch_rocket', output: 'up' })).toBe('Ran launch_rocket.');
    expect(tell({ output: { success: false } })).toBe('Send $30.00 to Alice.');
    expect(tell({ state: 'output-error', errorText: 'no' })).toBe('Send $30.00 to Alice.');
  });

  test('shows characters that pretend to be something else', () => {
    expect(reveal('Alice\u202Eecila')).toBe('Alice⟨U+202E⟩ecila');
    expect(reveal('Ali\u200Bce\u0007')).toBe('Ali⟨U+200B⟩ce⟨U+0007⟩');
    expect(reveal('花子\nzwei\tÄ')).toBe('花子\nzwei\tÄ');
  });
});

describe('the keys of a card', () => {
  const key = (code: string, held: Partial<Parameters<typeof decisionOf>[0]> = {}) =>
    decisionOf({ code, altKey: true, ctrlKey: false, metaKey: false, repeat: false, ...held });

  test('decide only with Alt, once for a press', () => {
    expect([key('KeyY'), key('KeyN')]).toEqual(['approve', 'deny']);
    for (const code of ['Enter', 'Space', 'KeyA', 'Escape']) expect(key(code)).toBe(null);
    expect(key('KeyY', { altKey: false })).toBe(null);
    expect(key('KeyY', { ctrlKey: true })).toBe(null);
    expect(key('KeyY', { metaKey: true })).toBe(null);
    expect(key('KeyY', { repeat: true })).toBe(null);
  });
});
