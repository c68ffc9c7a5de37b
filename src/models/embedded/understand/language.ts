/** The languages the rules speak. */
export type Language = 'en' | 'ja';

const JAPANESE = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}ー]/u;

const ENGLISH_WORDS =
  /\b(?:hi|hello|hey|thanks|thank|help|yes|no|ok|okay|please|the|is|are|what|where|who|how|why|weather|music|track|send|pay|money|dollars?|bucks|never|cancel|stop|to|for|in|and|my|me|i|you|it)\b/i;

/**
 * The language of a message. A message without a telling word (a number, a name) keeps the language spoken before.
 */
export function languageOf(text: string, before: Language = 'en'): Language {
  if (JAPANESE.test(text)) return 'ja';
  if (!/\p{L}/u.test(text)) return before;
  const isShort = text.trim().split(/\s+/).length <= 2;
  return before === 'ja' && isShort && !ENGLISH_WORDS.test(text) ? 'ja' : 'en';
}

/** The same words in each language. */
export type Bilingual = Readonly<Record<Language, string>>;

/** Picks the sentence of the person's language. */
export function say(language: Language, english: string, japanese: string): string {
  return language === 'ja' ? japanese : english;
}

/** Joins words as a list of the language: "a, b and c". */
export function listOf(language: Language, items: readonly string[]): string {
  if (language === 'ja') return items.join('、');
  const last = items.at(-1) ?? '';
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} and ${last}`;
}
