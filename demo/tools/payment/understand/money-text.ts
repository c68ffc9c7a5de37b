import type { Language } from 'duologue/models/embedded';

const SIGNS: Readonly<Record<string, string>> = { USD: '$', EUR: '€', GBP: '£', JPY: '¥' };
const UNITS_JA: Readonly<Record<string, string>> = { USD: 'ドル', EUR: 'ユーロ', GBP: 'ポンド', JPY: '円' };

/** Writes an amount the way the language does: `$50`, `50ドル`. */
export function moneyText(language: Language, amount: number, currency: string): string {
  const unit = UNITS_JA[currency];
  if (language === 'ja') return `${grouped(amount, 0)}${unit ?? ` ${currency}`}`;
  const sign = SIGNS[currency];
  const decimals = Number.isInteger(amount) || currency === 'JPY' ? 0 : 2;
  if (sign === undefined) return `${grouped(amount, decimals)} ${currency}`;
  return `${amount < 0 ? '-' : ''}${sign}${grouped(Math.abs(amount), decimals)}`;
}

function grouped(amount: number, decimals: number): string {
  return amount.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: 8 });
}
