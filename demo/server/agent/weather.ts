import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineTool } from 'duologue/adk';
import { z } from 'zod';

/** Where the weather comes from. */
export interface WeatherOptions {
  /** OpenWeatherMap's key; without one a table of samples answers. */
  apiKey?: string | undefined;
  /** OpenWeatherMap, or whatever answers like it. */
  baseUrl?: string | undefined;
  /** Folder for what was fetched. */
  cacheDir: string;
  now?: () => number;
}

interface Weather {
  location: string;
  temperature: number;
  condition: string;
  humidity: number;
  [detail: string]: unknown;
}

const CACHE_MS = 12 * 60 * 60_000;
const TIMEOUT_MS = 5000;

const SAMPLES: Readonly<Record<string, [temperature: number, condition: string, humidity: number]>> = {
  tokyo: [18, 'Cloudy', 65],
  osaka: [20, 'Sunny', 58],
  kyoto: [17, 'Sunny', 60],
  'san francisco': [15, 'Foggy', 80],
  'new york': [10, 'Sunny', 50],
  london: [12, 'Rainy', 85],
  paris: [14, 'Cloudy', 70],
  berlin: [9, 'Windy', 68],
  sydney: [23, 'Sunny', 55],
};
const CONDITIONS = ['Sunny', 'Cloudy', 'Rainy', 'Windy', 'Foggy', 'Clear'];

/** Tells the weather of a place: real with a key, otherwise a sample that says so. */
export function weatherTool(options: WeatherOptions) {
  return defineTool({
    name: 'get_weather',
    description: 'The current weather of a city. Give the city in English.',
    parameters: z.object({ location: z.string().describe('The city, in English') }),
    check: ({ location }) => {
      if (location.trim() === '') throw new Error('The location is missing.');
    },
    execute: ({ location }) => {
      const place = location.trim();
      return options.apiKey ? realWeather(place, options.apiKey, options) : sampleWeather(place);
    },
  });
}

function sampleWeather(location: string): Weather {
  const known = SAMPLES[location.toLowerCase()];
  const [temperature, condition, humidity] = known ?? madeUp(location);
  return {
    location,
    temperature,
    condition,
    humidity,
    sample: true,
    note: 'Sample data, not a real forecast',
  };
}

/** A place that is not in the table: always the same weather for the same name. */
function madeUp(location: string): [number, string, number] {
  const hash = createHash('sha256').update(location.toLowerCase()).digest();
  const [a = 0, b = 0, c = 0] = hash;
  return [5 + (a % 24), CONDITIONS[b % CONDITIONS.length] ?? 'Sunny', 40 + (c % 50)];
}

async function realWeather(location: string, apiKey: string, options: WeatherOptions): Promise<Weather> {
  const now = options.now?.() ?? Date.now();
  const name = createHash('sha256').update(location.toLowerCase()).digest('hex').slice(0, 32);
  const file = join(options.cacheDir, `${name}.json`);
  const cached = await readCache(file);
  if (cached && now - cached.at < CACHE_MS) return { ...cached.weather, cached: true };
  const weather = await fetchWeather(
    location,
    apiKey,
    options.baseUrl ?? 'https://api.openweathermap.org/data/2.5',
  );
  await mkdir(options.cacheDir, { recursive: true });
  // A reader never sees half a file.
  await writeFile(`${file}.new`, JSON.stringify({ at: now, weather }));
  await rename(`${file}.new`, file);
  return weather;
}

async function readCache(file: string): Promise<{ at: number; weather: Weather } | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as { at: number; weather: Weather };
  } catch {
    return null;
  }
}

async function fetchWeather(location: string, apiKey: string, baseUrl: string): Promise<Weather> {
  const url = new URL(`${baseUrl}/weather`);
  url.search = new URLSearchParams({ q: location, appid: apiKey, units: 'metric' }).toString();
  let response: Response;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch {
    throw new Error(`The weather service did not answer for ${location}. Try again later.`);
  }
  if (response.status === 404) throw new Error(`The weather service does not know ${location}.`);
  if (!response.ok)
    throw new Error(`The weather service answered with status ${response.status} for ${location}.`);
  const answer = schema.safeParse(await response.json().catch(() => null));
  if (!answer.success) throw new Error(`The weather service sent something unexpected for ${location}.`);
  const { main, weather, wind } = answer.data;
  return {
    location,
    temperature: oneDecimal(main.temp),
    condition: weather[0]?.main ?? 'Unknown',
    description: weather[0]?.description ?? '',
    humidity: main.humidity,
    feels_like: oneDecimal(main.feels_like ?? main.temp),
    wind_speed: wind?.speed ?? 0,
  };
}

const schema = z.object({
  main: z.object({ temp: z.number(), feels_like: z.number().optional(), humidity: z.number() }),
  weather: z.array(z.object({ main: z.string(), description: z.string().default('') })).min(1),
  wind: z.object({ speed: z.number() }).optional(),
});

function oneDecimal(value: number): number {
  return Math.round(value * 10) / 10;
}
