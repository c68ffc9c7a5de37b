const en = {
  title: 'Weather',
  suggestions: [{ title: 'Weather', text: 'What is the weather in Tokyo?' }],
  humidity: (percent: string) => `${percent} humidity`,
  sample: 'Sample data',
  conditions: {
    Sunny: 'Sunny',
    Clear: 'Clear',
    Clouds: 'Cloudy',
    Cloudy: 'Cloudy',
    Rainy: 'Rainy',
    Rain: 'Rain',
    Windy: 'Windy',
    Foggy: 'Foggy',
    Snow: 'Snow',
  } as Record<string, string>,
};

const ja: typeof en = {
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

/** What the page says about the weather. */
export const WORDS = { en, ja };
