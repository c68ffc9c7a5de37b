import {
  earlierTurns,
  listOf,
  previousTurn,
  type Reply,
  type Rule,
  type RuleContext,
  type Settled,
  say,
  type Turn,
  troubleText,
} from 'duologue/models/embedded';
import { cityForLookup, cityInJapanese } from './cities.ts';
import { cityAlone, isAboutAnotherTime, understandWeather } from './questions.ts';

const TOOL = 'get_weather';

/** The weather of one or more cities, also as a short question after another one. */
export const weather: Rule = {
  name: 'weather',
  match(context) {
    const asked = understandWeather(context.text);
    const previous = previousTurn(context.conversation);
    if (asked === null) {
      const isTopic = previous !== undefined && isAboutWeather(previous);
      const cities = isTopic ? cityAlone(context.text, previous.calls.length === 0) : null;
      return cities === null ? null : lookUp(cities, context);
    }
    return lookUp(
      asked.cities.length > 0 ? asked.cities : lastCities(earlierTurns(context.conversation)),
      context,
    );
  },
  tool: { name: TOOL, report },
  ability: {
    does: { en: 'tell the weather', ja: '天気' },
    example: { en: 'the weather: “What is the weather in Tokyo?”', ja: '天気：「東京の天気を教えて」' },
  },
};

function isAboutWeather(turn: Turn): boolean {
  if (turn.calls.length > 0) return turn.calls.some((call) => call.name === TOOL);
  return /[?？]/.test(turn.spoken) && understandWeather(turn.text)?.cities.length === 0;
}

function lastCities(turns: readonly Turn[]): string[] {
  const last = turns.flatMap((turn) => turn.calls).findLast((call) => call.name === TOOL);
  return typeof last?.args.location === 'string' ? [last.args.location] : [];
}

function lookUp(cities: readonly string[], context: RuleContext): Reply {
  const { language } = context;
  if (!context.can(TOOL)) {
    return {
      thought: say(
        language,
        'The weather, but there is no tool for it here.',
        '天気の質問ですが、ここでは調べられません。',
      ),
      text: say(
        language,
        'I cannot look up the weather here: this agent has no weather tool.',
        'ここでは天気を調べられません。このエージェントには天気の機能がありません。',
      ),
    };
  }
  if (cities.length === 0) {
    return {
      thought: say(language, 'The weather, but for which city?', '天気の質問ですが、都市が分かりません。'),
      text: say(language, 'For which city?', 'どの都市の天気ですか？'),
      asks: true,
    };
  }
  const names = cities.map((city) => (language === 'ja' ? cityInJapanese(city) : cityForLookup(city)));
  return {
    thought: say(
      language,
      `The person asks about the weather in ${listOf('en', names)}.`,
      `${listOf('ja', names)}の天気を調べます。`,
    ),
    calls: cities.map((city) => ({ name: TOOL, args: { location: cityForLookup(city) } })),
  };
}

const CONDITIONS_JA: readonly [RegExp, string][] = [
  [/thunder|storm/i, '雷雨'],
  [/drizzle/i, '霧雨'],
  [/rain|shower/i, '雨'],
  [/sleet/i, 'みぞれ'],
  [/snow/i, '雪'],
  [/fog|mist|haze/i, '霧'],
  [/partly|few clouds|scattered/i, '晴れ時々曇り'],
  [/cloud|overcast/i, '曇り'],
  [/clear|sunny/i, '晴れ'],
  [/wind/i, '風が強い状態'],
];

const REASONS_JA: readonly [RegExp, string][] = [
  [/weather service does not know/i, '天気サービスがその場所を知りません。'],
  [/weather service does not accept/i, '天気サービスがキーを受け付けません。'],
  [/weather service did not answer/i, '天気サービスから返答がありません。'],
  [/weather service answered with status/i, '天気サービスでエラーが起きました。'],
  [/weather service sent/i, '天気サービスの返答を読み取れません。'],
];

function report(settled: readonly Settled[], { language, conversation }: RuleContext): string {
  const question =
    conversation.turns.findLast((turn) => turn.calls.some((call) => call.name === TOOL))?.text ?? '';
  const sentences = settled.map((one) => weatherText(one, language));
  const values = settled.flatMap(({ outcome }) => (outcome.kind === 'done' ? [outcome.value] : []));
  if (
    values.some(
      (value) => value.sample === true || (typeof value.note === 'string' && /sample|mock/i.test(value.note)),
    )
  ) {
    sentences.push(
      say(
        language,
        '(This is sample data, not a real measurement.)',
        '（これはサンプルデータで、実際の観測値ではありません。）',
      ),
    );
  }
  if (values.length > 0 && isAboutAnotherTime(question)) {
    sentences.push(
      say(
        language,
        'This is the weather now; I have no forecast.',
        'これは現在の天気です。予報は分かりません。',
      ),
    );
  }
  return sentences.join(language === 'ja' ? '' : ' ');
}

function weatherText({ call, outcome }: Settled, language: 'en' | 'ja'): string {
  const city = typeof call.args.location === 'string' ? call.args.location : '';
  const subject = { en: `the weather look-up for ${city}`, ja: `${cityInJapanese(city)}の天気の取得` };
  if (outcome.kind !== 'done') return troubleText(language, subject, outcome, REASONS_JA) ?? '';
  const {
    condition,
    description,
    temperature,
    feels_like: feelsLike,
    humidity,
    wind_speed: wind,
  } = outcome.value;
  const words = typeof description === 'string' && description !== '' ? description : condition;
  const sky = typeof words === 'string' && !/^unknown$/i.test(words) ? words : undefined;
  const has = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
  if (language === 'ja') {
    const skyJa = CONDITIONS_JA.find(([pattern]) => sky !== undefined && pattern.test(sky))?.[1] ?? sky;
    const facts = [
      ...(skyJa === undefined ? [] : [skyJa]),
      ...(has(temperature) ? [`気温${temperature}℃${has(feelsLike) ? `（体感${feelsLike}℃）` : ''}`] : []),
      ...(has(humidity) ? [`湿度${humidity}%`] : []),
      ...(has(wind) ? [`風速${wind}m/s`] : []),
    ];
    return facts.length === 0
      ? (troubleText(language, subject, { kind: 'silent' }) ?? '')
      : `${cityInJapanese(city)}の天気は${facts.join('、')}です。`;
  }
  const facts = [
    ...(sky === undefined ? [] : [sky.toLowerCase()]),
    ...(has(temperature)
      ? [`${temperature} °C${has(feelsLike) ? ` (feels like ${feelsLike} °C)` : ''}`]
      : []),
    ...(has(humidity) ? [`humidity ${humidity} %`] : []),
    ...(has(wind) ? [`wind ${wind} m/s`] : []),
  ];
  return facts.length === 0
    ? (troubleText(language, subject, { kind: 'silent' }) ?? '')
    : `The weather in ${city}: ${facts.join(', ')}.`;
}
