import {
  coreOf,
  isNegated,
  type Rule,
  type RuleContext,
  type Settled,
  troubleText,
} from 'duologue/models/embedded';
import { placeNear } from './places.ts';
import { MODEL } from './texts/index.ts';

const TOOL = 'get_location';

const ENGLISH =
  /^(?:(?:do you know |tell me |show me |find out |see |know |guess )?where (?:am i|i am|are we|we are|i'?m at|am i at|exactly am i)(?: located| standing| right now| now| exactly| currently)?|(?:(?:what'?s|what is|what are|whats|tell me|show me|show|find|get|give me|detect|determine|check|look up|know|share|use|fetch|read) )?(?:my |our |the )?(?:current |exact |present |gps |geo)?(?:location|position|coordinates|whereabouts|geolocation)(?: on the map)?|locate me|find me(?: on the map)?|(?:what|which) (?:city|town|place|country|street) (?:am i|are we) (?:in|at))$/i;
const NOT_MINE = /^(?:the|a)? ?(?:location|position|coordinates|whereabouts|geolocation)$/i;
const ASK =
  '(?:ください|下さい|くれ(?:る|ない|ますか|ませんか)?|もらえ(?:る|ない|ますか|ませんか)?|いただけ(?:ますか|ませんか)?|ほしい(?:です)?|欲しい(?:です)?|ちょうだい)?';
const JAPANESE = new RegExp(
  `^(?:GPSで)?(?:(?:今の|現在の|私の|僕の|自分の|わたしの)*(?:現在地|現在位置|居場所|位置情報|今いる場所|いる場所|位置|所在地)(?:は|を|が|って|の座標を?|の座標は)?(?:どこ(?:です(?:か)?|なの|かな|になりますか)?|(?:教えて|調べて|見せて|取得して|表示して|確認して|特定して|探して|使って)${ASK}|知りたい(?:です|んですが|のですが)?|(?:分|わ)かり?(?:る|ますか)?|取得|お願い)?|(?:私|僕|俺|わたし|自分)?(?:は|が)?(?:今|いま|現在)?(?:は)?(?:、)?どこ(?:に)?(?:い(?:る|ます)(?:の|か|のか|んだろう|のかな)?|にいる)(?:か)?(?:を)?(?:(?:教えて|調べて)${ASK}|(?:分|わ)かり?(?:る|ますか)?)?|ここ(?:は|って)?(?:、)?(?:どこ|何(?:市|町|県|区)|なんという(?:町|街|場所))(?:です(?:か)?|なの|だろう|でしょう(?:か)?|かな)?|(?:今|いま)(?:は)?どこ(?:です(?:か)?|にい(?:る|ます)(?:か|の)?)?)$`,
);

/** The rule for questions such as “Where am I?”. */
export const location: Rule = {
  name: 'location',
  match({ text, language, can }) {
    const core = coreOf(text);
    const isAsked = (ENGLISH.test(core) && !NOT_MINE.test(core)) || JAPANESE.test(core);
    if (!isAsked || isNegated(text)) return null;
    if (!can(TOOL)) return MODEL[language].noTool;
    return { thought: MODEL[language].asked, calls: [{ name: TOOL, args: {} }] };
  },
  tool: { name: TOOL, report },
  ability: {
    does: { en: MODEL.en.does, ja: MODEL.ja.does },
    example: { en: MODEL.en.example, ja: MODEL.ja.example },
  },
};

function report(settled: readonly Settled[], context: RuleContext): string {
  return settled.map((one) => locationText(one, context)).join(context.language === 'ja' ? '' : ' ');
}

function locationText({ outcome }: Settled, { language }: RuleContext): string {
  const texts = MODEL[language];
  const subject = { en: MODEL.en.subject, ja: MODEL.ja.subject };
  if (outcome.kind !== 'done') return troubleText(language, subject, outcome) ?? '';
  const { latitude, longitude, accuracy, city, country } = outcome.value;
  if (typeof latitude !== 'number' || typeof longitude !== 'number') {
    return troubleText(language, subject, { kind: 'silent' }) ?? '';
  }
  const given = [city, country].filter((name): name is string => typeof name === 'string' && name !== '');
  const near = placeNear(latitude, longitude);
  // An accuracy of 0 means that the browser does not know it.
  const metres = typeof accuracy === 'number' ? Math.round(accuracy) : 0;
  const exact = texts.exact(latitude, longitude, metres < 1 ? '' : texts.within(metres));
  const place = given.length > 0 ? texts.place(given) : near && texts.near(near[language]);
  return texts.youAre(exact, place);
}
