import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { detectorFiles } from '../../../demo/server/voice/detector-files.ts';
import { FetchedParts } from '../../../demo/server/voice/fetched-parts.ts';

const PART = { name: 'ears-1.0.0', tarball: 'none', sha512: '', bytes: 3, files: { 'dist/run.mjs': 3 } };

/** A server with a part that is there, or not. */
async function serve(isThere: boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'voice-'));
  const file = join(folder, PART.name, 'dist/run.mjs');
  mkdirSync(dirname(file), { recursive: true });
  if (isThere) writeFileSync(file, 'abc');
  writeFileSync(join(folder, PART.name, 'secret'), 'no');
  const detector = new FetchedParts([PART], { folder, registry: 'http://127.0.0.1:9/' });
  const server = createServer(
    detectorFiles(detector, folder, (_request, response) => response.end('page')),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { detector, ask: (path: string) => fetch(url + path) };
}

test('a part that cannot be fetched says so, and none of its files is there', async () => {
  const { detector, ask } = await serve(false);
  expect(detector.now).toEqual({ status: 'absent', total: 3 });
  detector.prepare();
  await expect
    .poll(() => detector.now)
    .toMatchObject({
      status: 'failed',
      message: expect.stringContaining('http://127.0.0.1:9 cannot be reached'),
    });
  expect((await ask('/voice/files/ears-1.0.0/dist/run.mjs')).status).toBe(404);
  expect(await (await ask('/voices')).text()).toBe('page');
});

test('only the files of a part that is there are served, as what they are', async () => {
  const { detector, ask } = await serve(true);
  expect(detector.now).toEqual({ status: 'ready' });
  const found = await ask('/voice/files/ears-1.0.0/dist/run.mjs');
  expect([found.status, found.headers.get('content-type'), await found.text()]).toEqual([
    200,
    'text/javascript',
    'abc',
  ]);
  for (const path of ['ears-1.0.0/secret', 'ears-1.0.0/', 'ears-1.0.0/dist/..%2fsecret', 'other/x'])
    expect((await ask(`/voice/files/${path}`)).status).toBe(404);
});
