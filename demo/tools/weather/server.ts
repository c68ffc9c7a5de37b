import { join } from 'node:path';
import type { DemoTool } from '../tool.ts';
import { wordsOfCities } from './cities.ts';
import { weatherTool } from './definition.ts';
import { weather } from './rule.ts';

/** The weather of a city: a tool that runs on the server and needs no approval. */
const tool: DemoTool = {
  instruction: 'get_weather: the weather of a city (give the city in English).',
  define: ({ env, dataDir }) =>
    weatherTool({
      apiKey: env.OPENWEATHERMAP_API_KEY || undefined,
      baseUrl: env.OPENWEATHERMAP_URL || undefined,
      cacheDir: join(dataDir, 'weather'),
    }),
  rules: [weather],
  words: [...'weather rain raining cold hot sunny umbrella today like'.split(' '), ...wordsOfCities()],
};

export default tool;
