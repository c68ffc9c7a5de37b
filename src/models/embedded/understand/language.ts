/** The languages that the rules understand and answer in. */
export type Language = 'en' | 'ja';

const JAPANESE = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}ー]/u;

const ENGLISH_WORDS =
  /\b(?:hi|hello|hey|thanks|thank|help|yes|no|ok|okay|please|the|is|are|what|where|who|how|why|weather|music|track|send|pay|money|dollars?|bucks|never|cancel|stop|to|for|in|and|my|me|i|you|it)\b/i;

/**
 * The language of a message. A message that does not show its language, such as a number or a name, is taken to be in `before`, the language of the
 * conversation so far.
 */
export function languageOf(text: string, before: Language = 'en'): Language {
  if (JAPANESE.test(text)) return 'ja';
  if (!/\p{L}/u.test(text)) return before;
  const isShort = text.trim().split(/\s+/).length <= 2;
  return before === 'ja' && isShort && !ENGLISH_WORDS.test(text) ? 'ja' : 'en';
}

/** The same words in each language. */
export type Bilingual = Readonly<Record<Language, string>>;

/** Returns the sentence in the user's language. */
export function say(language: Language, english: string, japanese: string): string {
  return language === 'ja' ? japanese : english;
}

/** Joins words as a list of the language: "a, b and c". */
export function listOf(language: Language, items: readonly string[]): string {
  if (language === 'ja') return items.join('、');
  const last = items.at(-1) ?? '';
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} and ${last}`;
}

const NEGATED_EN =
  /\b(?:don'?t|doesn'?t|didn'?t|can'?t|won'?t|wouldn'?t|shouldn'?t|mustn'?t|couldn'?t|cannot|never|not|no|none|nothing|nobody|stop|cancel|avoid|refuse|without|unless|instead|rather than|hold off|undo|revert|neither|nor|forbid|forbidden|refrain)\b|n't\b/i;

const POLITE_NEGATIVE =
  /(?:くれ|もらえ|いただけ|頂け|でき|ください)(?:ない(?:でしょうか|ですか|か(?:な)?|(?=[?]|$))|ません(?:か|でしょうか))/g;
const NEGATED_JA =
  /ない|ません|なく|なし|ずに|やめ|止め|辞め|中止|キャンセル|取り消|取消|不要|いらな|要らな|いりま|禁止|だめ|ダメ|駄目|ストップ|(?:する|送る|払う|支払う|振り込む|渡す|送金)な(?:[よ!。]|$)/;

/** Whether the message contains a negation or a cancellation. A polite question with a negative form, such as one that ends in くれませんか, is no negation. */
export function isNegated(text: string): boolean {
  if (languageOf(text) === 'en') return NEGATED_EN.test(text.replace(/^no[,.!]\s+/i, ''));
  return NEGATED_JA.test(text.replace(/す[みい]ません|かもしれません/g, '').replace(POLITE_NEGATIVE, ''));
}
