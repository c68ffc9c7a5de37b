import { coreOf, isNegated } from 'duologue/models/embedded';

/** What the user wants of the music: a certain track, the other track, or something that the tool cannot do. */
export type MusicWish = { kind: 'track'; track: number } | { kind: 'other' } | { kind: 'unable' };

const NUMBERS: Readonly<Record<string, number>> = {
  one: 1,
  first: 1,
  '1st': 1,
  two: 2,
  second: 2,
  '2nd': 2,
  three: 3,
  third: 3,
  '3rd': 3,
  four: 4,
  five: 5,
  一: 1,
  二: 2,
  三: 3,
};

const NUMBER = '(?<number>\\d+|one|two|three|four|five|first|second|third|1st|2nd|3rd|[一二三])';
const THING = '(?:background music|background track|background song|bgm|music|track|song|tune|soundtrack)s?';

const TRACK_EN = [
  `^(?:play|put on|start|use|set|select|choose|change|switch|go|move|turn|give|hear|i want|i'd like)(?: (?:me|us|it|over|on|back))*(?: the)?(?: ${THING})?(?: over| back)?(?: to| on)?(?: the)?(?: ${THING})?(?: number| no\\.?| #)? ?${NUMBER}(?: ${THING})?$`,
  `^(?:play|put on|start|use|set|select|choose|change to|switch to)(?: the)? ${NUMBER} (?:${THING}|one)$`,
  `^(?:${THING})(?: number| no\\.?| #)? ?${NUMBER}$`,
].map((pattern) => new RegExp(pattern, 'i'));

const OTHER_EN = new RegExp(
  `^(?:(?:change|switch|toggle|swap|alternate)(?: up)?(?: the| this| my)?(?: current)? ${THING}|(?:play|put on|try|give me|use|switch to|change to|start)(?: me)?(?: (?:the|an?|some|any))?(?: (?:other|another|different|next|new))? ?${THING}|(?:play|put on|switch to|change to)(?: me)? (?:something else|another one|the other one|some other ${THING})|(?:turn|switch) on(?: the| some)? ${THING}|(?:next|another|different|other|some other) ${THING}|(?:play|hear|have|listen to)(?: some)? ${THING})$`,
  'i',
);

const UNABLE_EN = new RegExp(
  `^(?:(?:stop|pause|mute|silence|turn off|switch off|turn down|turn up|kill|end|resume|unmute)(?: the| this)? ?(?:${THING}|volume|sound)(?: volume)?|turn (?:the )?${THING} (?:off|down|up)|(?:make|play) (?:the )?${THING} (?:louder|quieter|softer))$`,
  'i',
);

const THING_JA = '(?:bgm|BGM|背景音楽|背景|音楽|曲|トラック|ミュージック|サウンド)';
const DO_JA =
  '(?:(?:に|へ)?(?:変更|切り?替え|チェンジ)(?:て|して|を|お願い|したい|する|できますか)?|(?:に)?(?:変え|替え|換え)て|(?:を)?(?:かけ|流し|再生し|選ん|選択し|聞かせ|聴かせ)(?:て|で)|(?:を)?(?:再生|選択)|(?:に)?し(?:て|たい)|がいい|で|を聞きたい|が聞きたい|を聴きたい|が聴きたい|を|に|(?:に)?変えたい|(?:を)?かけたい)(?:ください|下さい|くれ(?:る|ない|ますか|ませんか)?|もらえ(?:る|ない|ますか|ませんか)?|いただけ(?:ますか|ませんか)?|ほしい(?:です)?|欲しい(?:です)?|ちょうだい|です|お願い)?';

const TRACK_JA = [
  `^(?:${THING_JA}(?:を|は|の)?)?\\s*(?:トラック|曲|BGM|bgm|ナンバー|No\\.?)?\\s*${NUMBER}\\s*(?:番目?|つ目|曲目)?(?:の)?(?:${THING_JA})?\\s*${DO_JA}$`,
  `^(?:トラック|BGM|bgm)\\s*${NUMBER}$`,
  `^${NUMBER}番目?の(?:曲|トラック|音楽|BGM)$`,
].map((pattern) => new RegExp(pattern));
const OTHER_JA = new RegExp(
  `^(?:(?:この|今の)?${THING_JA}(?:を|は)?(?:別の(?:もの|曲)?|他の(?:もの|曲)?|違う(?:もの|曲)?|次の?(?:もの|曲)?)?${DO_JA}|(?:別の|他の|違う|次の|ほかの|もう一つの|何か)${THING_JA}(?:${DO_JA})?|次の曲)$`,
);
const UNABLE_JA = new RegExp(
  `^${THING_JA}(?:を|の)?(?:(?:止め|とめ|消し|停止し|一時停止し|ミュートし)て|(?:音量|ボリューム)(?:を)?(?:上げ|下げ)て|停止|オフに?(?:して)?)(?:ください|下さい|くれ|ほしい)?$|^(?:音量|ボリューム)(?:を)?(?:上げ|下げ)て(?:ください|下さい)?$`,
);

/** Reads a message as a request about the music; null for any other message. */
export function understandMusic(text: string): MusicWish | null {
  const core = coreOf(text);
  if (UNABLE_EN.test(core) || UNABLE_JA.test(core)) return { kind: 'unable' };
  if (isNegated(text) || /^(?:what|why|who|how|when|where|is|are|did|does|do)\b/i.test(core)) return null;
  const numbered = [...TRACK_EN, ...TRACK_JA]
    .map((pattern) => pattern.exec(core)?.groups?.number)
    .find((number) => number !== undefined);
  const namesMusic = new RegExp(`${THING}|${THING_JA}`, 'i').test(core);
  if (numbered !== undefined && namesMusic) {
    return { kind: 'track', track: NUMBERS[numbered.toLowerCase()] ?? Number(numbered) };
  }
  if (numbered === undefined && (OTHER_EN.test(core) || OTHER_JA.test(core))) return { kind: 'other' };
  return null;
}
