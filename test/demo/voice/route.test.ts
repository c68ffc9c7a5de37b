import { expect, test } from 'vitest';
import { voiceRoute } from '../../../demo/server/voice/route.ts';
import { harness } from '../../support/harness.ts';

const URL = 'http://localhost:3000/voice';

function route(apiKey?: string) {
  let count = 0;
  const voice = {
    now: { status: 'ready' as const },
    prepare: () => {
      count++;
    },
  };
  const ask = voiceRoute('/voice', voice, harness([], [], { apiKey }).duologue);
  const status = async (method: string, headers: Record<string, string> = {}, url = URL) =>
    (await ask(new Request(url, { method, headers })))?.status ?? null;
  return { status, prepared: () => count };
}

test('[A5] a server with a key tells and fetches nothing of voice without it', async () => {
  const { status, prepared } = route('secret');
  expect([await status('GET'), await status('POST'), prepared()]).toEqual([401, 401, 0]);
  const key = { authorization: 'Bearer secret' };
  expect([await status('GET', key), await status('POST', key), prepared()]).toEqual([200, 200, 1]);
});

test('[A6] a page of somebody else has nothing fetched', async () => {
  const { status, prepared } = route();
  expect([await status('POST', { origin: 'https://evil.example' }), prepared()]).toEqual([403, 0]);
  expect([await status('POST', { origin: 'http://localhost:3000' }), prepared()]).toEqual([200, 1]);
});

test('other paths go on, and other methods are refused', async () => {
  const { status } = route();
  expect([await status('GET', {}, 'http://localhost:3000/voices'), await status('DELETE')]).toEqual([
    null,
    405,
  ]);
});
