import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { webApp } from '../../demo/server/web.ts';
import type * as audio from '../../src/client/audio/index.ts';
import { root } from './support/built.ts';
import { TIMEOUT_MS } from './support/launch.ts';

declare global {
  interface Window {
    sound: Pick<typeof audio, 'AudioPlayer' | 'AudioRecorder'>;
    /** Where the worklets are, where the page knows it better than the library. */
    worklets?: { recorder: string; player: string };
  }
}

// Inside the repository, so that what the pages are built of is found; nothing of it is committed.
const folder = resolve(root, '.cache/bundlers');
const write = (files: Record<string, string>) => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
};

const IMPORT = "import { AudioPlayer, AudioRecorder } from 'duologue/client/audio';";

/** A page of Next.js that is built into files; says where they lie. */
async function buildNext(bundler: 'webpack' | 'turbopack'): Promise<string> {
  const name = `next-${bundler}`;
  write({
    [`${name}/package.json`]: JSON.stringify({ name: `page-${name}`, private: true, type: 'module' }),
    // Turbopack would take the repository's own otherwise, whose paths lead to the sources instead of the package.
    [`${name}/jsconfig.json`]: '{}',
    [`${name}/next.config.mjs`]: `export default {
      output: 'export',
      outputFileTracingRoot: ${JSON.stringify(root)},
    };`,
    [`${name}/pages/index.js`]: `${IMPORT}
      import { useEffect } from 'react';
      export default function Page() {
        useEffect(() => { window.sound = { AudioPlayer, AudioRecorder }; }, []);
        return <main>Sound</main>;
      }`,
  });
  const next = resolve(root, 'node_modules/next/dist/bin/next');
  await promisify(execFile)(process.execPath, [next, 'build', join(folder, name), `--${bundler}`], {
    env: { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
  });
  return join(folder, name, 'out');
}

/** A page of Vite; says where its files lie. */
async function buildVite(name: string, script: string, assetsInlineLimit?: number): Promise<string> {
  write({
    [`${name}/index.html`]:
      '<!doctype html><title>Sound</title><script type="module" src="/page.js"></script>',
    [`${name}/page.js`]: script,
  });
  await build({
    root: join(folder, name),
    configFile: false,
    logLevel: 'error',
    build: { ...(assetsInlineLimit === undefined ? {} : { assetsInlineLimit }) },
  });
  return join(folder, name, 'dist');
}

const plain = `${IMPORT} window.sound = { AudioPlayer, AudioRecorder };`;
const named = `${plain}
  import recorder from 'duologue/client/audio/pcm-recorder-processor.js?url&no-inline';
  import player from 'duologue/client/audio/pcm-player-processor.js?url&no-inline';
  window.worklets = { recorder, player };`;
const EVERYTHING = 1_000_000;

let browser: Browser;
beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  // The package as npm installs it: not a link to a folder with sources in it.
  for (const part of ['package.json', 'dist']) {
    cpSync(join(root, part), join(folder, 'node_modules/duologue', part), { recursive: true });
  }
  browser = await chromium.connect(inject('browser'));
});
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What comes of sound on a page that is served as the demo serves its own: loaded, heard, or why not. */
async function soundOn(files: string): Promise<{ recorder: string; player: string; worklets: string[] }> {
  const worklets: string[] = [];
  const app = webApp(files);
  // Next.js begins with a script of its own in the page: what a server allows by its hash, and nothing else.
  const inline = readFileSync(join(files, 'index.html'), 'utf8').matchAll(/<script>([\s\S]*?)<\/script>/g);
  const hashes = [...inline].map(
    ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  );
  const scripts = ["script-src 'self'", ...hashes].join(' ');
  const server: Server = createServer((request, response) => {
    const [name] = /pcm-\w+-processor/.exec(request.url ?? '') ?? [];
    response.on('finish', () => {
      if (name) worklets.push(`${name} ${response.statusCode}`);
    });
    const { writeHead } = response;
    response.writeHead = ((status: number, headers: Record<string, string>) => {
      const policy = headers['content-security-policy']?.replace("script-src 'self'", scripts);
      return writeHead.call(response, status, {
        ...headers,
        ...(policy ? { 'content-security-policy': policy } : {}),
      });
    }) as typeof writeHead;
    app(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const page = await browser.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  onTestFinished(() => page.close());
  const refused: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') refused.push(message.text());
  });
  page.on('pageerror', (error) => refused.push(error.message));
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await page
    .waitForFunction(() => 'sound' in window)
    .catch((error) => {
      throw new Error(`The page did not start: ${refused.join('; ')}`, { cause: error });
    });
  const found = await page.evaluate(async () => {
    const { AudioPlayer, AudioRecorder } = window.sound;
    const room = new AudioContext();
    const microphone = new MediaStreamAudioDestinationNode(room);
    const voice = new OscillatorNode(room, { frequency: 1000 });
    voice.connect(microphone);
    voice.start();
    navigator.mediaDevices.getUserMedia = async () => microphone.stream;
    const codeOf = (error: { code?: string }) => error.code ?? String(error);
    const { recorder: recorderUrl, player: playerUrl } = window.worklets ?? {};
    const recorder = await new Promise<string>((resolve) => {
      const one = new AudioRecorder({
        ...(recorderUrl ? { workletUrl: recorderUrl } : {}),
        onChunk: (pcm) => {
          if (pcm.some((sample) => sample > 16_000)) resolve('heard');
        },
      });
      one.start().catch((error) => resolve(codeOf(error)));
    });
    const player = await new Promise<string>((resolve) => {
      const one = new AudioPlayer({
        ...(playerUrl ? { workletUrl: playerUrl } : {}),
        onPlaying: (isPlaying) => isPlaying && resolve('plays'),
      });
      one.start().then(
        () => one.play({ n: 1, sampleRate: 24_000, pcm: new Int16Array(24_000) }),
        (error) => resolve(codeOf(error)),
      );
    });
    return { recorder, player };
  });
  return { ...found, worklets: worklets.sort() };
}

const OWN = ['pcm-player-processor 200', 'pcm-recorder-processor 200'];

test.each<[string, () => Promise<string>]>([
  ['Next.js with webpack', () => buildNext('webpack')],
  ['Next.js with Turbopack', () => buildNext('turbopack')],
  ['Vite', () => buildVite('vite', plain)],
  ['Vite that inlines whatever it may', () => buildVite('vite-named', named, EVERYTHING)],
])('worklets load under a strict policy from a build of %s', async (_bundler, built) => {
  expect(await soundOn(await built())).toEqual({ recorder: 'heard', player: 'plays', worklets: OWN });
});

test('a worklet that Vite was let inline is told of in words', async () => {
  const files = await buildVite('vite-inline', plain, EVERYTHING);
  expect(await soundOn(files)).toEqual({ recorder: 'worklet', player: 'worklet', worklets: [] });
});
