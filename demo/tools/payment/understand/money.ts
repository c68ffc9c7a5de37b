import { ENGLISH_NUMERAL, englishNumeral, JAPANESE_NUMERAL, japaneseNumeral } from './numerals.ts';

/** An amount as the person wrote it; `currency` is absent when only a number was given. */
export interface Money {
  amount: number;
  currency?: string;
}

/** A message in which every amount is replaced by `⟦0⟧`, `⟦1⟧` …, and the amounts in that order. */
export interface MarkedText {
  marked: string;
  amounts: Money[];
}

interface Unit {
  currency: string;
  pattern: string;
  per?: number;
}

const UNITS: readonly Unit[] = [
  {
    currency: 'USD',
    pattern: 'us dollars?|u\\.s\\. dollars?|american dollars?|dollars?|bucks?|usd|米ドル|ドル|弗',
  },
  { currency: 'USD', pattern: 'cents?|セント|¢', per: 100 },
  { currency: 'CAD', pattern: 'canadian dollars?|カナダドル' },
  { currency: 'AUD', pattern: 'australian dollars?|オーストラリアドル|豪ドル' },
  { currency: 'JPY', pattern: 'japanese yen|yens?|円|エン' },
  { currency: 'EUR', pattern: 'euros?|ユーロ' },
  { currency: 'GBP', pattern: 'british pounds?|pounds?(?: sterling)?|quid|ポンド' },
  { currency: 'CHF', pattern: '(?:swiss )?francs?|スイスフラン|フラン' },
  { currency: 'CNY', pattern: '(?:chinese )?yuan|renminbi|rmb|人民元|元' },
  { currency: 'KRW', pattern: '(?:korean )?won|ウォン' },
  { currency: 'INR', pattern: '(?:indian )?rupees?|ルピー' },
  { currency: 'BTC', pattern: 'bitcoins?|ビットコイン' },
];

const CODES =
  'USD|JPY|EUR|GBP|CHF|CNY|KRW|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|TRY|BRL|MXN|ARS|CLP|COP|ZAR|EGP|NGN|KES|ILS|AED|SAR|SGD|HKD|TWD|THB|VND|IDR|MYR|PHP|RUB|UAH|BTC|ETH';

const SYMBOLS: Readonly<Record<string, string>> = {
  us$: 'USD',
  $: 'USD',
  ca$: 'CAD',
  c$: 'CAD',
  a$: 'AUD',
  au$: 'AUD',
  '€': 'EUR',
  '£': 'GBP',
  '¥': 'JPY',
  '₩': 'KRW',
  '₹': 'INR',
  '₿': 'BTC',
};

const DIGITS = '(?:\\d{1,3}(?:,\\d{3})+|\\d+)(?:\\.\\d+)?';
const UNIT_WORDS = UNITS.map((unit) => unit.pattern).join('|');
const NOT_INSIDE = '(?<![A-Za-z0-9.,$€£¥₩₹₿-])';
const NUMBER_ENDS = '(?![.,]?\\d)';
const WORD_ENDS = '(?![A-Za-z0-9])';

const AMOUNT = new RegExp(
  [
    `${NOT_INSIDE}(?<sign>-|minus |マイナス)?(?<symbol>us\\$|ca\\$|c\\$|au\\$|a\\$|[$€£¥₩₹₿]|(?:${CODES})(?=[ \\d]))\\s?(?<inner>-)?(?<priced>${DIGITS})${NUMBER_ENDS}(?:\\s?(?:${UNIT_WORDS}|${CODES}))?${WORD_ENDS}`,
    `${NOT_INSIDE}(?<minus>-|minus |マイナス)?(?<number>${DIGITS})${NUMBER_ENDS}[ -]?(?<unit>${UNIT_WORDS}|${CODES}|[€£$¥])${WORD_ENDS}`,
    `(?<![A-Za-z-])(?<below>minus )?(?<words>${ENGLISH_NUMERAL})(?<wordUnit>${UNIT_WORDS}|${CODES})${WORD_ENDS}`,
    `(?<![A-Za-z0-9.,-])(?<under>マイナス)?(?<kanji>${JAPANESE_NUMERAL})(?<kanjiUnit>${UNIT_WORDS})${WORD_ENDS}`,
    `${NOT_INSIDE}(?<negative>-|minus |マイナス)?(?<bare>${DIGITS})${NUMBER_ENDS}(?![A-Za-z%])`,
  ].join('|'),
  'giu',
);

function currencyNamed(name: string): Unit {
  const found = UNITS.find((unit) => new RegExp(`^(?:${unit.pattern})$`, 'iu').test(name));
  return found ?? { currency: SYMBOLS[name.toLowerCase()] ?? name.toUpperCase(), pattern: '' };
}

function priced(value: number, name: string | undefined): Money {
  if (name === undefined) return { amount: value };
  const unit = currencyNamed(name.trim());
  return { amount: value / (unit.per ?? 1), currency: unit.currency };
}

function amountIn(groups: Readonly<Record<string, string | undefined>>): Money | undefined {
  const plain = groups.priced ?? groups.number ?? groups.bare;
  const value =
    plain !== undefined
      ? Number(plain.replace(/,/g, ''))
      : groups.words !== undefined
        ? englishNumeral(groups.words)
        : japaneseNumeral(groups.kanji ?? '');
  if (value === undefined || !Number.isFinite(value)) return undefined;
  const isNegative = [
    groups.sign,
    groups.inner,
    groups.minus,
    groups.below,
    groups.under,
    groups.negative,
  ].some((sign) => sign !== undefined);
  return priced(
    isNegative ? -value : value,
    groups.symbol ?? groups.unit ?? groups.wordUnit ?? groups.kanjiUnit,
  );
}

/** Finds every amount of a message and puts a mark in its place. */
export function markAmounts(text: string): MarkedText {
  const amounts: Money[] = [];
  const marked = text.replace(AMOUNT, (...match) => {
    const money = amountIn(match.at(-1) as Record<string, string | undefined>);
    if (money === undefined) return match[0] as string;
    amounts.push(money);
    return `⟦${amounts.length - 1}⟧`;
  });
  return { marked, amounts };
}
