import { expect, test } from 'vitest';
import { priceOf } from '../src/chat/prices.ts';
import { dollars } from '../src/i18n/format.ts';

const usage = {
  input: 1_000_000,
  output: 0,
  cacheRead: null,
  cacheWrite: null,
  reasoning: null,
  total: null,
};

test('an answer of a known model has a price, that of another one has none', () => {
  expect(priceOf(usage, 'gpt-4o', new Date(2026, 0, 1))).toBeGreaterThan(0);
  expect(priceOf(usage, 'duologue-embedded', new Date(2026, 0, 1))).toBe(null);
});

test('sound has its own price, and counts that do not add up are no failure', () => {
  const at = new Date(2026, 10, 1);
  const spoken = (input: number) => ({ ...usage, audio: { input, output: null, cacheRead: null } });
  // US dollars for a million tokens of input: 0.5 for text, 3 for sound.
  expect(priceOf(spoken(500_000), 'gemini-live-2.5-flash-native-audio', at)).toBeCloseTo(1.75, 9);
  expect(priceOf(spoken(1_000_001), 'gemini-live-2.5-flash-native-audio', at)).toBeCloseTo(3, 9);
  // The price list does not have this model yet, so the price is unknown (null) and not 0.
  expect(priceOf(spoken(500_000), 'gemini-3.8-live', at)).toBe(null);
});

test('small sums keep the digits that matter', () => {
  expect(dollars(0.000123, 'en')).toBe('$0.00012');
  expect(dollars(1.5, 'en')).toBe('$1.5');
});
