import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createServer, type UserConfig } from 'vite';
import { expect, onTestFinished, test } from 'vitest';
import { live } from '../support/live.ts';
import { text } from '../support/scripted-model.ts';
import { TestSocket } from '../support/socket.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The configuration of Vite in a document. */
function sampleIn(document: string): string {
  const text = readFileSync(join(root, document), 'utf8');
  return /^```ts\n\/\/ file: vite\.config\.ts\n(.*?)^```$/ms.exec(text)?.[1] ?? '';
}

/** A dev server of Vite in a folder of its own; what is in `config` replaces what the file says. */
async function dev(configFile: string | false, config: UserConfig = {}): Promise<string> {
  const server = await createServer({
    ...config,
    configFile,
    logLevel: 'silent',
    server: { ...config.server, port: 0, host: 'localhost' },
  });
  await server.listen();
  onTestFinished(() => server.close());
  return server.resolvedUrls?.local[0]?.replace(/\/$/, '') ?? '';
}

const post = (base: string) =>
  fetch(`${base}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: base },
    body: JSON.stringify({ id: 'a', messages: [{ role: 'user', content: 'hi' }] }),
  });

test.each(['README.md', 'docs/behind-a-proxy.md'])(
  '[A6] a page on a dev server of Vite reaches the server through the proxy of %s, socket included',
  async (document) => {
    const made = await live([[text('Hello.')]]);
    const cache = join(root, '.cache');
    mkdirSync(cache, { recursive: true });
    const folder = mkdtempSync(join(cache, 'vite-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const configFile = join(folder, 'vite.config.ts');
    writeFileSync(configFile, sampleIn(document).replace('http://localhost:3000', made.served.url));
    const base = await dev(configFile, { root: folder });
    const response = await post(base);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hello.')]);
    const socket = new TestSocket(`${base.replace('http', 'ws')}/live`, { headers: { origin: base } });
    expect((await socket.chunk('data-session')).data.resumed).toBe(false);
    socket.close();
  },
);

test('[A6] the short form of the proxy is refused, and the answer says why', async () => {
  const made = await live([]);
  const base = await dev(false, { root, server: { proxy: { '/stream': made.served.url } } });
  const response = await post(base);
  expect([response.status, await response.json()]).toEqual([
    403,
    { error: expect.objectContaining({ code: 'forbidden', message: expect.stringContaining(base) }) },
  ]);
});
