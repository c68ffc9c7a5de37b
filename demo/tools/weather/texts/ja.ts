import type * as en from './en.ts';

/** What the page says about the weather. */
export const page: typeof en.page = {
  title: '天気',
  suggestions: [{ title: '天気', text: '東京の天気を教えて' }],
  humidity: (percent) => `湿度 ${percent}`,
  sample: 'サンプルデータ',
  conditions: {
    Sunny: '晴れ',
    Clear: '快晴',
    Clouds: 'くもり',
    Cloudy: 'くもり',
    Rainy: '雨',
    Rain: '雨',
    Windy: '強風',
    Foggy: '霧',
    Snow: '雪',
  },
};

/** Errors of the tool, each with its Japanese text. */
export const reasons: readonly [RegExp, string][] = [
  [/location is missing/i, '場所が指定されていません。'],
  [/weather service does not know/i, '天気サービスにその場所がありません。'],
  [
    /weather service does not accept/i,
    '天気サービスがキーを受け付けません。OPENWEATHERMAP_API_KEY を確認してください。',
  ],
  [/weather service did not answer/i, '天気サービスから応答がありません。あとでもう一度お試しください。'],
  [/weather service answered with status/i, '天気サービスでエラーが起きました。'],
  [/weather service sent/i, '天気サービスの応答を読み取れません。'],
];

const SKIES: readonly [RegExp, string][] = [
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

/** What the embedded model says about the weather. */
export const model: typeof en.model = {
  does: '天気',
  example: '天気：「東京の天気を教えて」',
  noTool: {
    thought: '天気の質問ですが、ここでは調べられません。',
    text: 'ここでは天気を調べられません。このエージェントには天気の機能がありません。',
  },
  noCity: { thought: '天気の質問ですが、都市が分かりません。', text: 'どの都市の天気ですか？' },
  asked: (cities) => `${cities}の天気を調べます。`,
  sample: '（これはサンプルデータで、実際の観測値ではありません。）',
  onlyNow: 'これは現在の天気です。予報は分かりません。',
  subject: (city) => `${city}の天気の取得`,
  sky: (words) => SKIES.find(([pattern]) => pattern.test(words))?.[1] ?? words,
  temperature: (degrees, feelsLike) =>
    `気温${degrees}℃${feelsLike === undefined ? '' : `（体感${feelsLike}℃）`}`,
  humidity: (percent) => `湿度${percent}%`,
  wind: (speed) => `風速${speed}m/s`,
  weather: (city, facts) => `${city}の天気は${facts.join('、')}です。`,
};
