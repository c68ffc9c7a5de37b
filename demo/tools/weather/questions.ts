import { coreOf, languageOf, withoutClosing, withoutOpening } from 'duologue/models/embedded';
import { isKnownCity } from './cities.ts';

/** A question about the weather. `cities` is empty when the user named no city. */
export interface WeatherQuestion {
  cities: string[];
}

/** Reads a message as a question about the weather; null for any other message. */
export function understandWeather(text: string): WeatherQuestion | null {
  return languageOf(text) === 'ja' ? weatherJa(text) : weatherEn(text);
}

/**
 * The cities of a message that consists of nothing else, such as "London", "and in Paris?" or ロンドンは？; null for any
 * other message. Unless the model asked for a city (`isAsked`), an unknown name counts only in a question, or after a word
 * such as "in".
 */
export function cityAlone(text: string, isAsked: boolean): string[] | null {
  const cities = citiesAlone(text);
  const isPlaced = isAsked || /[?？]$|^(?:and |or )*(?:in|at|for) |は[。]?$/i.test(text.trim());
  return isPlaced || cities?.every(isKnownCity) ? cities : null;
}

function citiesAlone(text: string): string[] | null {
  if (languageOf(text) === 'ja') {
    const core = withoutClosing(withoutOpening(text)).replace(
      /(?:について|では|でも|は|も|って|の|の方)?(?:どう(?:ですか|です|なの|かな)?|です(?:か)?|で|お願い|を教えて|も教えて)?$/,
      '',
    );
    return citiesJa(core);
  }
  const core = coreOf(text).replace(
    /^(?:and |or |what about |how about |what of |for |in |at |it'?s |i'?m in |i mean )+/i,
    '',
  );
  return citiesEn(core);
}

/** Whether a question is about a time other than now. */
export function isAboutAnotherTime(text: string): boolean {
  return /\b(?:tomorrow|tonight|next|weekend|this week|forecast|later|will)\b|明日|明後日|あした|今夜|週末|今週|来週|予報/i.test(
    text,
  );
}

const TIME =
  '(?: (?:right now|now|today|tonight|tomorrow|later|for (?:today|tomorrow|now|this week)|this (?:morning|afternoon|evening|week|weekend)|next week|outside|currently|at the moment|like|be|be like|look like|looking|going to be|these days))*';
const PLACE = '(?: (?:in|for|at|of|around|near|over|like in) (?<city>.+?))?';
const SKY =
  '(?:raining|rainy|rain|snowing|snowy|snow|sunny|cloudy|clear|windy|foggy|hot|cold|warm|cool|freezing|humid|stormy|nice out)';
const WEATHER =
  "(?:the |today'?s |tomorrow'?s |current |this week'?s )*(?:current |latest |local |outside )?(?:weather(?: forecast| report| conditions?)?|forecast|temperature|temp|humidity)";

const QUESTIONS_EN = [
  `^(?:(?:please )?(?:tell|show|give|get|check|find|look up|fetch|report|know|see|hear)(?: me| us)?(?: out)?(?: about)? )?(?:(?:what'?s|what is|what are|what will|how'?s|how is|how will|what about|how about|whats|hows) )?${WEATHER}(?: is| will be)?${TIME}${PLACE}${TIME}$`,
  `^(?:(?:what'?s|what is|how'?s|how is|whats|hows|tell me|show me|check|get|give me) )(?<city>.+?)(?:'s)? (?:weather|temperature|forecast)${TIME}$`,
  `^(?:what (?:temperature|weather) is it|what is it like|how many degrees is it|what'?s it like)${TIME}${PLACE}${TIME}$`,
  `^(?:is|will) it (?:be |going to (?:be )?|gonna )?(?:very |really |too )?${SKY}${TIME}${PLACE}${TIME}$`,
  `^how (?:hot|cold|warm|cool|humid|windy|rainy) (?:is|will) it${TIME}${PLACE}${TIME}$`,
  `^(?:do|will|should) (?:i|we) (?:need|take|bring)(?: an?| my)? (?:umbrella|coat|jacket)${TIME}${PLACE}${TIME}$`,
  `^weather(?: forecast| report)?:? (?<known>.+?)${TIME}$`,
  `^(?<known>.+?)(?:'s)? (?:weather|temperature)(?: forecast| report)?${TIME}$`,
].map((pattern) => new RegExp(pattern, 'i'));

function weatherEn(text: string): WeatherQuestion | null {
  if (/\b(?:don'?t|do not|never|not|stop)\b/i.test(text)) return null;
  const core = coreOf(text).replace(/^do you know /i, '');
  for (const pattern of QUESTIONS_EN) {
    const groups = pattern.exec(core)?.groups;
    if (groups === undefined && !pattern.test(core)) continue;
    const named = groups?.city ?? groups?.known;
    if (named === undefined)
      // "What is weather?" asks for the meaning of the word. The word alone asks for the weather.
      return /^(?:what is|what's) (?:weather|temperature|humidity|a forecast|forecast)$/i.test(core)
        ? null
        : { cities: [] };
    if (/^(?:here|there|my (?:city|town|area|location|place)|outside|this (?:city|town))$/i.test(named))
      return { cities: [] };
    const cities = citiesEn(named);
    if (cities === null) continue;
    const mustBeKnown = groups?.known !== undefined;
    if (mustBeKnown && !cities.every((city) => isKnownCity(city) || /^\p{Lu}/u.test(city))) continue;
    return { cities };
  }
  return null;
}

const NOT_A_CITY = new Set(
  `is are was were be like different from than work works worked nice good bad lovely great terrible hot cold warm
  awful horrible fine beautiful perfect rainy sunny cloudy stormy what why how who when where which whether the a an
  this that it its i you we they he she me my your our do does did can could will would should report app api station
  channel underneath under hello hi hey help thanks thank yes no ok okay sure please send pay transfer give money
  music track song picture image balance location name story count again never mind cancel stop change play true same
  about with without because and or if but so very really some any all today tomorrow yesterday now cool wow awesome
  amazing interesting markdown try retry repeat once more one time`.split(/\s+/),
);

function citiesEn(written: string): string[] | null {
  const names = /\sand\s|\s&\s/i.test(written)
    ? written.split(/\s*,\s*(?:and\s+)?|\s+and\s+|\s+&\s+/i)
    : [written];
  const cities = names.map((name) =>
    withoutClosing(name.replace(/^(?:in )?(?:the city of |the )?/i, '')).trim(),
  );
  const areCities = cities.every(
    (city) =>
      /^[\p{L}\p{M}][\p{L}\p{M}.' -]*(?:, ?[\p{L}\p{M}.' -]+)?$/u.test(city) &&
      city.split(/[\s,]+/).length <= 4 &&
      city
        .toLowerCase()
        .split(/[\s,]+/)
        .every((word) => !NOT_A_CITY.has(word)),
  );
  return areCities && cities.length > 0 && cities.length <= 5 ? cities : null;
}

const TIME_JA = '(?:(?:今日|きょう|明日|あした|明後日|今夜|今週|週末|本日|現在|今|いま|これから)(?:の|は)?)?';
const ASK_JA =
  '(?:ください|下さい|くれ(?:る|ない|ますか|ませんか)?|もらえ(?:る|ない|ますか|ませんか)?|いただけ(?:ますか|ませんか)?|ほしい(?:です)?|欲しい(?:です)?|ちょうだい)?';
const WEATHER_JA = '(?:お?天気予報|お?天気|気温|天候|温度|湿度|空模様)';
const END_JA = `(?:は|を|が|って|も|について|の方は|は今)?(?:どう(?:です(?:か)?|なって(?:い)?(?:る|ます)(?:か)?|だろう|でしょう(?:か)?|かな|なの|なん(?:です)?(?:か)?)?|どんな(?:感じ)?(?:です(?:か)?)?|(?:教えて|調べて|見せて|確認して|チェックして|聞かせて|見て)${ASK_JA}|知りたい(?:です|んですが|のですが|な)?|聞きたい(?:です)?|何度(?:くらい)?(?:です(?:か)?)?|何(?:です)?(?:か)?|いかがですか|いかが|(?:分|わ)かり?(?:る|ますか)?|お願い|ですか)?`;
const SKY_JA =
  '(?:何度(?:くらい)?|暑い|寒い|涼しい|暖かい|蒸し暑い|晴れ(?:て(?:い)?(?:る|ます)|る|ます)?|雨(?:が|は)?(?:降って(?:い)?(?:る|ます)|降る|降ります|降りそう)?|雪(?:が|は)?(?:降って(?:い)?(?:る|ます)|降る|降ります)?|曇り|曇って(?:い)?(?:る|ます)|傘(?:が|は)?(?:必要|要る|いる|いります))';

const QUESTIONS_JA = [
  `^${TIME_JA}(?<city>.*?)(?:における|での|で|の|は|って)?${TIME_JA}${WEATHER_JA}${END_JA}$`,
  `^${WEATHER_JA}(?:を|、|,|\\s)(?<city>.+?)の?(?:教えて${ASK_JA})?$`,
].map((pattern) => new RegExp(pattern));
const SKY_QUESTION_JA = new RegExp(
  `^${TIME_JA}(?<city>.*?)(?:では|で|は|って|の方は)?${TIME_JA}${SKY_JA}(?:です|でしょう|かな|か|の)*$`,
);

function weatherJa(text: string): WeatherQuestion | null {
  if (/ないで|なくて|いらない|不要|やめて|昨日|きのう|先週|でした|だった/.test(text)) return null;
  const core = coreOf(text);
  const isQuestion = /[?？]$|(?:か|かな|の)[?？。]?$/.test(text);
  const patterns = isQuestion ? [...QUESTIONS_JA, SKY_QUESTION_JA] : QUESTIONS_JA;
  for (const pattern of patterns) {
    const named = pattern.exec(core)?.groups?.city;
    if (named === undefined) continue;
    if (named === '' || /^(?:ここ|この辺|こっち|外|現在地|うち)$/.test(named)) return { cities: [] };
    const cities = citiesJa(named);
    if (cities !== null) return { cities };
  }
  return null;
}

function citiesJa(written: string): string[] | null {
  const trimmed = written.trim().replace(/(?:市内|周辺|あたり|の)$/, '');
  const names = isKnownCity(trimmed)
    ? [trimmed]
    : trimmed.split(/と|、|,|・|\s*and\s*/).map((name) => name.trim());
  const areCities = names.every(
    (name) =>
      (isKnownCity(name) ||
        /^[\p{Script=Han}]{1,6}$|^[\p{Script=Katakana}ー・]{2,12}$|^[A-Za-z][A-Za-z .'-]{1,24}$/u.test(
          name,
        )) &&
      !/^(?:良|悪|好|嫌|何|誰|今日|明日|昨日|天気|予報|最近|最高|最低|残高|送金|音楽|曲|現在地|写真|画像|名前|世界|全国|トラック|キャンセル|ヘルプ|メニュー|カウント|ストーリー|ハロー|株価|料金|金額|値段|時間|電車|体調|気分|調子|元気|再度|再試行|リトライ)/.test(
        name,
      ),
  );
  return areCities && names.length <= 5 ? names : null;
}
