import type { Language } from './language.tsx';

/** An amount of money as people write it; an unknown currency stands behind the number. */
export function money(amount: number, currency: string, language: Language): string {
  try {
    return new Intl.NumberFormat(language, { style: 'currency', currency }).format(amount);
  } catch {
    return `${new Intl.NumberFormat(language).format(amount)} ${currency}`;
  }
}

/** A small amount of US dollars, with as many digits as it takes to see something. */
export function dollars(amount: number, language: Language): string {
  return new Intl.NumberFormat(language, {
    style: 'currency',
    currency: 'USD',
    maximumSignificantDigits: 2,
  }).format(amount);
}

/** A number with the marks of the language. */
export function number(value: number, language: Language, digits = 0): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
}

/** A temperature in whole degrees Celsius. */
export function celsius(value: number, language: Language): string {
  return `${number(value, language)} °C`;
}
