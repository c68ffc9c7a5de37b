import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { defineTool } from 'duologue/adk';
import { z } from 'zod';
import { ERRORS, SAMPLE_NOTE } from './texts/index.ts';

/** Where the weather comes from. */
export interface WeatherOptions {
  /** The key of OpenWeatherMap. Without a key the tool returns sample data. */
  apiKey?: string | undefined;
  /** The address of OpenWeatherMap, or of a service with the same API. */
  baseUrl?: string | undefined;
  /** The folder in which fetched weather is stored. */
  cacheDir: string;
  /** How long the service may take; 5 seconds unless given. */
  timeoutMs?: number | undefined;
  now?: () => number;
}

/** The output of the tool. Sample data have fewer fields than the data of the service. */
type Weather = z.infer<typeof weatherSchema>;

const weatherSchema = z.object({
  location: z.string(),
  temperature: z.number(),
  condition: z.string(),
  description: z.string().optional(),
  humidity: z.number(),
  feels_like: z.number().optional(),
  wind_speed: z.number().optional(),
  sample: z.literal(true).optional(),
  cached: z.literal(true).optional(),
  note: z.string().optional(),
});

const CACHE_MS = 12 * 60 * 60_000;
const TIMEOUT_MS = 5000;

const SAMPLES = new Map<string, [temperature: number, condition: string, humidity: number]>([
  ['tokyo', [18, 'Cloudy', 65]],
  ['osaka', [20, 'Sunny', 58]],
  ['kyoto', [17, 'Sunny', 60]],
  ['san francisco', [15, 'Foggy', 80]],
  ['new york', [10, 'Sunny', 50]],
  ['london', [12, 'Rainy', 85]],
  ['paris', [14, 'Cloudy', 70]],
  ['berlin', [9, 'Windy', 68]],
  ['sydney', [23, 'Sunny', 55]],
]);
const CONDITIONS = ['Sunny', 'Cloudy', 'Rainy', 'Windy', 'Foggy', 'Clear'];

/** Returns the weather of a city: from OpenWeatherMap if there is a key, otherwise sample data that are marked as such. */
export function weatherTool(options: WeatherOptions) {
  return defineTool({
    name: 'get_weather',
    description: 'The current weather of a city. Give the city in English.',
    parameters: z.object({ location: z.string().describe('The city, in English') }),
    concurrent: true,
    check: ({ location }) => {
      if (location.trim() === '') throw new Error(ERRORS.noLocation);
    },
    execute: ({ location }) => {
      const place = location.trim();
      return options.apiKey ? realWeather(place, options.apiKey, options) : sampleWeather(place);
    },
  });
}

function sampleWeather(location: string): Weather {
  const known = SAMPLES.get(location.toLowerCase());
  const [temperature, condition, humidity] = known ?? madeUp(location);
  return {
    location,
    temperature,
    condition,
    humidity,
    sample: true,
    note: SAMPLE_NOTE,
  };
}

/** Invented weather for a place that is not in the table: always the same for the same name. */
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
  const age = cached ? now - cached.at : Number.NaN;
  if (cached && age >= 0 && age < CACHE_MS) return { ...cached.weather, cached: true };
  const weather = await fetchWeather(location, apiKey, options);
  await writeCache(file, { at: now, weather });
  return weather;
}

const cacheSchema = z.object({ at: z.number(), weather: weatherSchema });

/** Reads weather that was fetched before; null when the file is missing or damaged. */
async function readCache(file: string): Promise<z.infer<typeof cacheSchema> | null> {
  try {
    return cacheSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return null;
  }
}

async function writeCache(file: string, entry: z.infer<typeof cacheSchema>): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    // Written to a temporary file and renamed, so that a reader never sees half a file or the data of two writers.
    const whole = `${file}.${randomUUID()}`;
    await writeFile(whole, JSON.stringify(entry));
    await rename(whole, file);
  } catch {
    // This call has its weather. Without the file, the next call asks the service again.
  }
}

async function fetchWeather(location: string, apiKey: string, options: WeatherOptions): Promise<Weather> {
  const { baseUrl = 'https://api.openweathermap.org/data/2.5', timeoutMs = TIMEOUT_MS } = options;
  const url = new URL(`${baseUrl}/weather`);
  url.search = new URLSearchParams({ q: location, appid: apiKey, units: 'metric' }).toString();
  let status: number;
  let body: string;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    status = response.status;
    body = await response.text();
  } catch {
    throw new Error(ERRORS.silent(location));
  }
  if (status === 404) throw new Error(ERRORS.unknown(location));
  if (status === 401) {
    throw new Error(ERRORS.key);
  }
  if (status !== 200) throw new Error(ERRORS.status(status, location));
  const answer = schema.safeParse(json(body));
  if (!answer.success) throw new Error(ERRORS.unreadable(location));
  const { main, weather, wind } = answer.data;
  return {
    location,
    temperature: oneDecimal(main.temp),
    condition: weather[0]?.main ?? 'Unknown',
    description: weather[0]?.description ?? '',
    humidity: main.humidity,
    ...(main.feels_like === undefined ? {} : { feels_like: oneDecimal(main.feels_like) }),
    ...(wind === undefined ? {} : { wind_speed: wind.speed }),
  };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const schema = z.object({
  main: z.object({ temp: z.number(), feels_like: z.number().optional(), humidity: z.number() }),
  weather: z.array(z.object({ main: z.string(), description: z.string().default('') })).min(1),
  wind: z.object({ speed: z.number() }).optional(),
});

function oneDecimal(value: number): number {
  return Math.round(value * 10) / 10;
}
