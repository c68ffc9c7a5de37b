import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { afterwards, demo, outcomesIn, temporaryFolder, wordsIn } from '../support/demo.ts';

const HOUR = 60 * 60_000;

/** Answers like OpenWeatherMap, as the test says; remembers what it was asked. */
async function weatherService(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  afterwards(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { asked, baseUrl: `http://localhost:${(server.address() as AddressInfo).port}` };
}

const sends = (status: number, body: unknown) => (_: IncomingMessage, response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
};

const clear = {
  weather: [{ main: 'Clear', description: 'clear sky' }],
  main: { temp: 9.58, feels_like: 9.36, humidity: 50 },
  wind: { speed: 1.34 },
};

const reported = {
  location: 'Tokyo',
  temperature: 9.6,
  condition: 'Clear',
  description: 'clear sky',
  humidity: 50,
  feels_like: 9.4,
  wind_speed: 1.34,
};

describe('the weather without a key', () => {
  it('is a sample that says so, in the result and in the words about it', async () => {
    const { chunks } = await demo().say('What is the weather in Tokyo?');
    expect(outcomesIn(chunks)).toEqual([
      {
        location: 'Tokyo',
        temperature: 18,
        condition: 'Cloudy',
        humidity: 65,
        sample: true,
        note: 'Sample data, not a real forecast',
      },
    ]);
    expect(wordsIn(chunks)).toBe(
      'The weather in Tokyo: cloudy, 18 °C, humidity 65 %. (This is sample data, not a real measurement.)',
    );
  });

  it('varies by city, and is the same for the same city', async () => {
    const { say } = demo();
    const samples: string[] = [];
    for (const city of ['Tokyo', 'London', 'Springfield', 'Reykjavik', 'Springfield']) {
      const { chunks } = await say(`weather in ${city}`);
      samples.push(JSON.stringify(outcomesIn(chunks)));
    }
    expect(new Set(samples).size).toBe(4);
    expect(samples[4]).toBe(samples[2]);
  });

  it.each(['Constructor', 'ToString'])('knows no place by accident: %s', async (city) => {
    const { chunks } = await demo().say(`What is the weather in ${city}?`);
    expect(outcomesIn(chunks)).toEqual([expect.objectContaining({ location: city, sample: true })]);
  });
});

describe('the weather with a key', () => {
  it('is what the service says, in metric units', async () => {
    const service = await weatherService(sends(200, clear));
    const { say } = demo({
      weather: { apiKey: 'secret key', baseUrl: service.baseUrl, cacheDir: temporaryFolder() },
    });
    const english = await say('What is the weather in Tokyo?');
    expect(service.asked).toEqual(['/weather?q=Tokyo&appid=secret+key&units=metric']);
    expect(outcomesIn(english.chunks)).toEqual([reported]);
    expect(wordsIn(english.chunks)).toBe(
      'The weather in Tokyo: clear sky, 9.6 °C (feels like 9.4 °C), humidity 50 %, wind 1.34 m/s.',
    );
    const japanese = await say('東京の天気を教えて', 'another');
    expect(wordsIn(japanese.chunks)).toBe(
      '東京の天気は晴れ、気温9.6℃（体感9.4℃）、湿度50%、風速1.34m/sです。',
    );
  });

  it('leaves out what the service did not say', async () => {
    const { feels_like, ...main } = clear.main;
    const service = await weatherService(sends(200, { weather: [{ main: 'Rain' }], main }));
    const { say } = demo({
      weather: { apiKey: 'k', baseUrl: service.baseUrl, cacheDir: temporaryFolder() },
    });
    const { chunks } = await say('weather in Tokyo');
    expect(outcomesIn(chunks)).toEqual([
      { location: 'Tokyo', temperature: 9.6, condition: 'Rain', description: '', humidity: 50 },
    ]);
  });

  it.each([
    {
      what: 'a place it does not know',
      answer: sends(404, { cod: '404', message: 'city not found' }),
      error: 'The weather service does not know Tokyo.',
      ja: '天気サービスにその場所がありません。',
    },
    {
      what: 'a wrong key',
      answer: sends(401, { cod: 401, message: 'Invalid API key' }),
      error: 'The weather service does not accept the key. Check OPENWEATHERMAP_API_KEY.',
      ja: '天気サービスがキーを受け付けません。OPENWEATHERMAP_API_KEY を確認してください。',
    },
    {
      what: 'a fault of its own',
      answer: sends(503, 'busy'),
      error: 'The weather service answered with status 503 for Tokyo.',
      ja: '天気サービスでエラーが起きました。',
    },
    {
      what: 'an answer that is no JSON',
      answer: sends(200, '<html>hello</html>'),
      error: 'The weather service sent something unexpected for Tokyo.',
      ja: '天気サービスの応答を読み取れません。',
    },
    {
      what: 'an answer without a temperature',
      answer: sends(200, { ...clear, main: { humidity: 50 } }),
      error: 'The weather service sent something unexpected for Tokyo.',
      ja: '天気サービスの応答を読み取れません。',
    },
    {
      what: 'an answer without a sky',
      answer: sends(200, { ...clear, weather: [] }),
      error: 'The weather service sent something unexpected for Tokyo.',
      ja: '天気サービスの応答を読み取れません。',
    },
    {
      what: 'no answer at all',
      timeoutMs: 1000,
      answer: () => undefined,
      error: 'The weather service did not answer for Tokyo. Try again later.',
      ja: '天気サービスから応答がありません。あとでもう一度お試しください。',
    },
    {
      what: 'an answer that never ends',
      timeoutMs: 1000,
      answer: (_: IncomingMessage, response: ServerResponse) =>
        void response.writeHead(200).write('{"main":'),
      error: 'The weather service did not answer for Tokyo. Try again later.',
      ja: '天気サービスから応答がありません。あとでもう一度お試しください。',
    },
    {
      what: 'a connection that breaks',
      answer: (request: IncomingMessage) => void request.socket.destroy(),
      error: 'The weather service did not answer for Tokyo. Try again later.',
      ja: '天気サービスから応答がありません。あとでもう一度お試しください。',
    },
  ])('$what is told as it was, in both languages, and not kept', async ({ answer, timeoutMs, error, ja }) => {
    const service = await weatherService(answer);
    const cacheDir = temporaryFolder();
    const { say } = demo({
      weather: { apiKey: 'key-1234', baseUrl: service.baseUrl, cacheDir, timeoutMs },
    });
    const english = await say('What is the weather in Tokyo?');
    expect(outcomesIn(english.chunks)).toEqual([error]);
    expect(wordsIn(english.chunks)).toBe(`The weather look-up for Tokyo failed: ${error}`);
    const japanese = await say('東京の天気を教えて');
    expect(wordsIn(japanese.chunks)).toBe(`東京の天気の取得は失敗しました：${ja}`);
    expect(JSON.stringify([english.chunks, japanese.chunks])).not.toContain('key-1234');
    expect(service.asked).toHaveLength(2);
    expect(readdirSync(cacheDir)).toEqual([]);
  });
});

describe('weather that was fetched', () => {
  async function setUp() {
    let now = 1_700_000_000_000;
    const service = await weatherService(sends(200, clear));
    const cacheDir = temporaryFolder();
    const options = { apiKey: 'k', baseUrl: service.baseUrl, cacheDir, now: () => now };
    return {
      service,
      cacheDir,
      pass: (ms: number) => {
        now += ms;
      },
      ask: async (city = 'Tokyo') =>
        outcomesIn((await demo({ weather: options }).say(`weather in ${city}`)).chunks),
    };
  }

  it('is kept for twelve hours, also over a restart, and says that it was', async () => {
    const { service, pass, ask } = await setUp();
    expect(await ask()).toEqual([reported]);
    pass(12 * HOUR - 1);
    expect(await ask()).toEqual([{ ...reported, cached: true }]);
    expect(service.asked).toHaveLength(1);
    pass(1);
    expect(await ask()).toEqual([reported]);
    expect(service.asked).toHaveLength(2);
  });

  it('is kept for each city, whatever the case of its letters', async () => {
    const { service, ask } = await setUp();
    await ask('Tokyo');
    await ask('London');
    expect(await ask('tokyo')).toEqual([expect.objectContaining({ cached: true })]);
    expect(service.asked.map((path) => new URLSearchParams(path.split('?')[1]).get('q'))).toEqual([
      'Tokyo',
      'London',
    ]);
  });

  it.each([
    ['empty', () => ''],
    ['cut off', (text: string) => text.slice(0, text.length / 2)],
    ['of another shape', () => '{"at":"yesterday","weather":{}}'],
    ['from the future', (text: string) => text.replace('"at":17', '"at":99')],
  ])('is fetched again when its file is %s', async (_, damage) => {
    const { service, cacheDir, ask } = await setUp();
    await ask();
    const [name = ''] = readdirSync(cacheDir);
    const file = join(cacheDir, name);
    writeFileSync(file, damage(readFileSync(file, 'utf8')));
    expect(await ask()).toEqual([reported]);
    expect(await ask()).toEqual([{ ...reported, cached: true }]);
    expect(service.asked).toHaveLength(2);
    expect(readdirSync(cacheDir)).toEqual([name]);
  });

  it('is told even when it cannot be kept', async () => {
    const service = await weatherService(sends(200, clear));
    const file = join(temporaryFolder(), 'a file where a folder should be');
    writeFileSync(file, '');
    const { say } = demo({ weather: { apiKey: 'k', baseUrl: service.baseUrl, cacheDir: file } });
    expect(outcomesIn((await say('weather in Tokyo')).chunks)).toEqual([reported]);
  });

  it('is fetched by several people at once without a trace of half a file', async () => {
    const { cacheDir, ask } = await setUp();
    const all = await Promise.all(Array.from({ length: 8 }, () => ask()));
    for (const one of all) expect(one).toEqual([expect.objectContaining({ temperature: 9.6 })]);
    expect(readdirSync(cacheDir)).toHaveLength(1);
  });
});
