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

test('small sums keep the digits that matter', () => {
  expect(dollars(0.000123, 'en')).toBe('$0.00012');
  expect(dollars(1.5, 'en')).toBe('$1.5');
});
