import { languageOf } from './language.ts';

const ENGLISH =
  /\b(?:don'?t|doesn'?t|didn'?t|can'?t|won'?t|wouldn'?t|shouldn'?t|mustn'?t|couldn'?t|cannot|never|not|no|none|nothing|nobody|stop|cancel|avoid|refuse|without|unless|instead|rather than|hold off|undo|revert|neither|nor|forbid|forbidden|refrain)\b|n't\b/i;

const POLITE_NEGATIVE =
  /(?:くれ|もらえ|いただけ|頂け|でき|ください)(?:ない(?:でしょうか|ですか|か(?:な)?|(?=[?]|$))|ません(?:か|でしょうか))/g;
const JAPANESE =
  /ない|ません|なく|なし|ずに|やめ|止め|辞め|中止|キャンセル|取り消|取消|不要|いらな|要らな|いりま|禁止|だめ|ダメ|駄目|ストップ|(?:する|送る|払う|支払う|振り込む|渡す|送金)な(?:[よ!。]|$)/;

/** Whether the message tells not to do something; polite questions such as くれませんか do not. */
export function isNegated(text: string): boolean {
  if (languageOf(text) === 'en') return ENGLISH.test(text.replace(/^no[,.!]\s+/i, ''));
  return JAPANESE.test(text.replace(/す[みい]ません|かもしれません/g, '').replace(POLITE_NEGATIVE, ''));
}
