import type { Language } from './language.tsx';

/** An amount of money in the format of the language. A currency that the browser does not know follows the number. */
export function money(amount: number, currency: string, language: Language): string {
  try {
    return new Intl.NumberFormat(language, { style: 'currency', currency }).format(amount);
  } catch {
    return `${new Intl.NumberFormat(language).format(amount)} ${currency}`;
  }
}

/** Whether `money` shows an amount without rounding it. */
export function isShownExactly(amount: number, currency: string, language: Language): boolean {
  return Number(amount.toFixed(digitsOf(currency, language))) === amount;
}

function digitsOf(currency: string, language: Language): number {
  try {
    const { maximumFractionDigits } = new Intl.NumberFormat(language, {
      style: 'currency',
      currency,
    }).resolvedOptions();
    return maximumFractionDigits ?? 0;
  } catch {
    return new Intl.NumberFormat(language).resolvedOptions().maximumFractionDigits ?? 0;
  }
}

/** An amount of US dollars with two significant digits, because costs are often below a cent. */
export function dollars(amount: number, language: Language): string {
  return new Intl.NumberFormat(language, {
    style: 'currency',
    currency: 'USD',
    maximumSignificantDigits: 2,
  }).format(amount);
}

/** A number in the format of the language. */
export function number(value: number, language: Language, digits = 0): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
}

/** A file size in bytes, kB or MB. */
export function byteCount(bytes: number, language: Language): string {
  const [value, unit] =
    bytes < 1000 ? [bytes, 'byte'] : bytes < 1e6 ? [bytes / 1000, 'kilobyte'] : [bytes / 1e6, 'megabyte'];
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit,
    unitDisplay: unit === 'byte' ? 'long' : 'short',
    maximumFractionDigits: 1,
  }).format(value);
}

/** A temperature in whole degrees Celsius. */
export function celsius(value: number, language: Language): string {
  return `${number(value, language)} °C`;
}
