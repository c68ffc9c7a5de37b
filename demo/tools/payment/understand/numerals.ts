const SMALL: Readonly<Record<string, number>> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
  thirteen: 13,
  fourteen: 14,
  fifteen: 15,
  sixteen: 16,
  seventeen: 17,
  eighteen: 18,
  nineteen: 19,
  twenty: 20,
  thirty: 30,
  forty: 40,
  fifty: 50,
  sixty: 60,
  seventy: 70,
  eighty: 80,
  ninety: 90,
};

/** Matches a number written in English words; every word is one that `englishNumeral` reads. */
export const ENGLISH_NUMERAL =
  '(?!and\\b)(?:(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|and)(?:[\\s-]+|(?![a-z])))+';

/** Reads a number written in English words ("twenty-five", "a hundred and two"); undefined for any other text. */
export function englishNumeral(words: string): number | undefined {
  let total = 0;
  let group = 0;
  let seen = false;
  for (const word of words.toLowerCase().split(/[\s-]+/)) {
    if (word === '' || word === 'and') continue;
    const small = SMALL[word];
    if (small !== undefined) group += small;
    else if (word === 'hundred') group = Math.max(group, 1) * 100;
    else if (word === 'thousand') {
      total += Math.max(group, 1) * 1000;
      group = 0;
    } else return undefined;
    seen = true;
  }
  return seen ? total + group : undefined;
}

const KANJI_DIGITS = '〇一二三四五六七八九';
const KANJI_UNITS: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1000 };

/** Matches a Japanese number: kanji, or digits with 万, 千 and the like. */
export const JAPANESE_NUMERAL = '[0-9.,〇零一二三四五六七八九十百千万億]+';

/** Reads a Japanese number such as 五十, 1万5千 or 2千; undefined for any other text. */
export function japaneseNumeral(text: string): number | undefined {
  const source = text.replace(/,/g, '').replace(/零/g, '〇');
  if (!/^(?:[0-9.]+|[〇一二三四五六七八九十百千万億])+$/.test(source)) return undefined;
  let total = 0;
  let group = 0;
  let digits = '';
  const taken = (): number | undefined => {
    if (digits === '') return undefined;
    const value = Number(digits);
    digits = '';
    return value;
  };
  for (const sign of source) {
    const kanjiDigit = KANJI_DIGITS.indexOf(sign);
    const unit = KANJI_UNITS[sign];
    if (/[0-9.]/.test(sign)) digits += sign;
    else if (kanjiDigit >= 0) digits += String(kanjiDigit);
    else if (unit !== undefined) group += (taken() ?? 1) * unit;
    else {
      const whole = group + (taken() ?? 0);
      total += (whole === 0 ? 1 : whole) * (sign === '万' ? 10_000 : 100_000_000);
      group = 0;
    }
  }
  const value = total + group + (taken() ?? 0);
  return Number.isFinite(value) ? value : undefined;
}
