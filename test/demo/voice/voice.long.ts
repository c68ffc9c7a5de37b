import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { DemoServer } from '../../browser/support/server.ts';

const folder = mkdtempSync(join(tmpdir(), 'voice-'));
const server = new DemoServer({
  DUOLOGUE_DATA: folder,
  // As npm fetches: the same registry, trusted in the same way.
  ...named('npm_config_registry', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'),
});

/** What the voice part costs once: fetched from the registry, as a new user's machine does. */
beforeAll(async () => {
  await server.start();
  const state = async (method: string) => (await fetch(`${server.url}/voice`, { method })).json();
  expect(await state('GET')).toMatchObject({ status: 'absent' });
  expect(await state('POST')).toMatchObject({ status: 'fetching', bytes: 0 });
  let now = await state('GET');
  while (now.status === 'fetching') {
    await new Promise((resolve) => setTimeout(resolve, 500));
    now = await state('GET');
  }
  expect(now).toEqual({ status: 'ready' });
}, 300_000);

afterAll(async () => {
  await server.dispose();
  rmSync(folder, { recursive: true, force: true });
});

interface Heard {
  chunks: { type: string; [name: string]: unknown }[];
  /** Seconds of sound that were spoken. */
  seconds: number;
}

/** Holds a key, says what is in the file, lets go, and hears the answer. */
function say(file: string, until: (heard: Heard) => boolean): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const url = `${server.url.replace('http', 'ws')}/live?session=voice-${file}`;
    const socket = new WebSocket(url, ['duologue.v2'], { origin: server.url });
    const heard: Heard = { chunks: [], seconds: 0 };
    const frame = (type: string, data: object) => socket.send(JSON.stringify({ type, data }));
    socket.on('error', reject);
    socket.on('open', () => {
      const sound = readFileSync(new URL(`./clips/${file}`, import.meta.url)).subarray(44);
      frame('audio_control', { action: 'start', detection: 'client' });
      for (let at = 0; at < sound.length; at += 6400) {
        const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
        header.writeUInt32LE(16_000, 4);
        socket.send(Buffer.concat([header, sound.subarray(at, at + 6400)]));
      }
      frame('audio_control', { action: 'stop' });
    });
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) heard.seconds += (data.length - 8) / 48_000;
      else {
        for (const line of data.toString().split('\n')) {
          if (line.startsWith('data: {')) heard.chunks.push(JSON.parse(line.slice(6)));
        }
      }
      if (!until(heard)) return;
      socket.close();
      resolve(heard);
    });
  });
}

test('a question that is asked aloud calls the tool and is answered aloud, without a key', async () => {
  const { chunks, seconds } = await say('weather.wav', (heard) =>
    heard.chunks.some(({ type }) => type === 'finish'),
  );
  expect(chunks.find(({ type }) => type === 'data-transcript')).toMatchObject({
    data: { role: 'user', text: 'What is the weather in Tokyo?', finished: true },
  });
  expect(chunks.find(({ type }) => type === 'tool-input-available')).toMatchObject({
    toolName: 'get_weather',
    input: { location: 'Tokyo' },
  });
  expect(seconds).toBeGreaterThan(2);
});

test('a payment that is asked for aloud opens a card, and nothing is paid', async () => {
  const { chunks } = await say('payment.wav', (heard) =>
    heard.chunks.some(({ type }) => type === 'tool-approval-request'),
  );
  expect(chunks.find(({ type }) => type === 'tool-input-available')).toMatchObject({
    toolName: 'process_payment',
    input: { amount: 50, recipient: 'Alice' },
  });
  expect(chunks.some(({ type }) => type === 'tool-output-available')).toBe(false);
});

function named(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
