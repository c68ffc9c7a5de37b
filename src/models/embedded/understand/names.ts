const WORD = "[\\p{L}\\p{M}\\p{N}@._'+#&/-]+";
const NAME = new RegExp(`^(?:(?:my|the|our) )?${WORD}(?: ${WORD}){0,2}$`, 'u');

const NOT_A_NAME = new Set(
  `to back both between up exactly only about almost roughly for of and or if when while in on at by from with via is are was were be been because as than about into onto
  tomorrow later tonight next every each a an this that these those it its him her them me myself us you yourself
  anyone anything nothing nobody someone somebody everyone everybody hello hi hey help thanks thank yes no yeah yep
  nope ok okay sure what whats what's who whom why how when where which weather forecast music track song bgm picture
  image photo balance stop cancel never not please money cash dollars dollar yen euros pounds send pay transfer give
  story count markdown again more less same do does did can could would will should sorry great good nice cool wow
  maybe perhaps hmm bye goodbye i i'm tell show play change switch location name`.split(/\s+/),
);

/** Reads the name of a person or a place; undefined when the words cannot be a name. */
export function personName(words: string): string | undefined {
  const name = words
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .replace(/[.,]+$/, '');
  if (!NAME.test(name) || !/[\p{L}\p{N}]/u.test(name) || name.length > 60) return undefined;
  const parts = name.toLowerCase().split(' ');
  const own = /^(?:my|the|our)$/.test(parts[0] ?? '') ? parts.slice(1) : parts;
  return own.length > 0 && own.every((part) => !NOT_A_NAME.has(part)) ? name : undefined;
}

const HONORIFIC = '(?:さん|さま|様|ちゃん|くん|君|殿|氏)';

/** Matches a Japanese honorific after a name. */
const HONORIFICS = new RegExp(`${HONORIFIC}$`);

const NAME_JA = /^[\p{L}\p{M}\p{N}ー・.@_' &-]{1,24}$/u;
const NOT_A_NAME_JA =
  /^(?:はい|いいえ|いや|うん|ええ|こんにちは|こんばんは|おはよう|ありがとう|どうも|天気|音楽|曲|トラック|現在地|残高|助けて|ヘルプ|わからない|分からない|何|なに|誰|だれ|誰か|だれか|どこ|いつ|いくら|お金|みんな|全員|それ|これ|あれ|ここ|そこ|今|今日|明日|やめ|キャンセル|中止|メール|写真|画像|送金|支払い?)/;

/** Reads a Japanese name without its honorific; undefined when the words cannot be a name. */
export function personNameJa(words: string): string | undefined {
  const name = words
    .trim()
    .replace(/^[「『"](.*)[」』"]$/, '$1')
    .replace(HONORIFICS, '')
    .trim();
  if (!NAME_JA.test(name) || !/[\p{L}\p{N}]/u.test(name)) return undefined;
  if (NOT_A_NAME_JA.test(name) || /を|です|ます|ください/.test(name)) return undefined;
  if (new RegExp(`${HONORIFIC}[がはもと]`).test(name)) return undefined;
  return /^[A-Za-z0-9@._'& -]+$/.test(name) ? personName(name) : name;
}
