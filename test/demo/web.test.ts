import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { webApp } from '../../demo/server/web.ts';

// The folder itself lies in one named like that of the hashed files.
const around = mkdtempSync(join(tmpdir(), 'duologue-web-'));
const folder = join(around, 'assets', 'dist');
let server: Server;

beforeAll(async () => {
  mkdirSync(join(folder, 'assets'), { recursive: true });
  writeFileSync(join(folder, 'index.html'), '<p>app</p>');
  writeFileSync(join(folder, 'assets', 'main-1a2b.js'), 'let a;');
  writeFileSync(join(folder, 'track-1.mp3'), 'la');
  writeFileSync(join(around, 'secret.txt'), 'secret');
  server = createServer(webApp(folder));
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
});

afterAll(() => {
  server.close();
  rmSync(around, { recursive: true, force: true });
});

/** Asks for a path as it is written, which `fetch` would tidy. */
function get(path: string, method = 'GET'): Promise<unknown[]> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const asked = request({ host: 'localhost', port, path, method }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => {
        const { 'content-type': type, 'cache-control': cache } = response.headers;
        resolve([response.statusCode, type, cache, text]);
      });
    });
    asked.on('error', reject).end();
  });
}

const app = [200, 'text/html; charset=utf-8', 'no-cache', '<p>app</p>'];

it.each([
  ['/', app],
  ['/index.html', app],
  ['/?session=1', app],
  ['/a/page/of/the/app', app],
  ['/assets', app],
  [
    '/assets/main-1a2b.js',
    [200, 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable', 'let a;'],
  ],
  ['/track-1.mp3', [200, 'audio/mpeg', 'no-cache', 'la']],
  ['/assets/gone.js', [404, 'text/plain', undefined, 'Not found']],
])('the web app is served: %s', async (path, answer) => {
  expect(await get(path)).toEqual(answer);
});

it.each([
  '/../../secret.txt',
  '/%2e%2e/%2e%2e/secret.txt',
  '/..%2f..%2fsecret.txt',
  '/assets/../../../secret.txt',
  '/%00',
  '/%',
  '//example.com/secret.txt',
])('nothing outside its folder is: %s', async (path) => {
  expect((await get(path))[0]).toBe(404);
});

it.each([
  ['GET', '/'],
  ['GET', '/assets/gone.js'],
  ['GET', '/%'],
  ['POST', '/'],
])('[A10a] %s %s says what the page may load, and that nobody may frame it', async (method, path) => {
  const { port } = server.address() as AddressInfo;
  const headers = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
    const asked = request({ host: 'localhost', port, path, method }, (response) => {
      response.resume();
      resolve(response.headers);
    });
    asked.on('error', reject).end();
  });
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'permissions-policy': 'microphone=(self), camera=(self), geolocation=(self), display-capture=(self)',
  });
  const policy = headers['content-security-policy']?.toString().split('; ');
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval'");
});

it('HEAD gets no body, and other methods get nothing', async () => {
  expect(await get('/', 'HEAD')).toEqual([...app.slice(0, 3), '']);
  expect((await get('/', 'POST'))[0]).toBe(404);
});
