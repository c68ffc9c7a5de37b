import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { webApp } from '../../demo/server/web.ts';
import { stage } from './support/browser.ts';
import { DOT, Person } from './support/person.ts';

const here = stage();

async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  here.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}/`;
}

/** A foreign page, on another port of this machine. */
const foreignPage = (body: string) =>
  listening((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html>${body}`);
  });

/** Other files, served as those of the app are. */
function served(files: Record<string, string>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'duologue-guard-'));
  here.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return listening(webApp(folder));
}

describe('[A10a] the page', () => {
  it('is not shown in a frame of another page, so that nobody steals a click on a card', async () => {
    const url = await foreignPage(
      `<iframe name="ours" src="${here.server.url}"></iframe><iframe name="theirs" src="/?inner"></iframe>`,
    );
    const page = await here.open({ url });
    const ours = page.frame({ name: 'ours' });
    const theirs = page.frame({ name: 'theirs' });
    await expect.poll(() => theirs?.url()).toBe(`${url}?inner`);
    await expect.poll(() => ours?.url()).toBe('chrome-error://chromewebdata/');
    expect(await ours?.getByRole('textbox').count()).toBe(0);
  });

  it('does all it does within its own policy', async () => {
    const refused: string[] = [];
    const person = new Person(
      await here.open({
        prepare: async (context: BrowserContext) => {
          context.on('console', (message) => {
            if (/Content Security Policy|Permissions.?Policy/i.test(message.text()))
              refused.push(message.text());
          });
        },
      }),
    );
    const { page } = person;
    await page.getByTestId('picture-input').setInputFiles(DOT);
    await page.getByRole('img', { name: DOT.name }).waitFor();
    await person.say('What is in this picture?');
    await expect.poll(() => person.answers.count()).toBe(1);
    await expect.poll(() => person.isBusy()).toBe(false);
    await person.say('Play track 2');
    await page.locator('[data-track="2"]').waitFor();
    await person.say('Send $30 to Alice');
    await person.card('requested').waitFor();
    await person.approve();
    await person.card('done').waitFor();
    await person.openPanel('Inspector');
    await page.getByRole('listbox').getByRole('option').first().waitFor();
    await page.reload();
    await person.card('done').waitFor();
    // Pictures are loaded when they are: one that is refused never is.
    const missing = () =>
      page.evaluate(
        () =>
          [...document.images].filter(({ complete, naturalWidth }) => !complete || naturalWidth === 0).length,
      );
    await expect.poll(missing).toBe(0);
    expect(refused).toEqual([]);
  });

  it('runs WebAssembly, workers and worklets of its own, and no other code', async () => {
    const url = await served({
      'index.html': '<!doctype html><script>window.inlineRan = true;</script><script src="/own.js"></script>',
      'own.js': `
        const attempt = async (use) => { try { return await use(); } catch (error) { return error.name; } };
        const worker = (url) => new Promise((resolve) => {
          const started = new Worker(url);
          started.onmessage = ({ data }) => resolve(data);
          started.onerror = () => resolve('refused');
        });
        window.found = (async () => ({
          wasm: await attempt(async () => String(await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])))),
          worker: await attempt(() => worker('/own-worker.js')),
          worklet: await attempt(() => new AudioContext().audioWorklet.addModule('/own-worklet.js').then(() => 'loaded')),
          inline: window.inlineRan === true,
          text: await attempt(() => new Function('return 1')()),
          foreign: await attempt(() => import('http://localhost:1/x.js').then(() => 'loaded')),
          fetched: await attempt(() => fetch('data:text/plain,x').then(() => 'loaded')),
          blob: await attempt(() => worker(URL.createObjectURL(new Blob(['postMessage("ran")'])))),
        }))();`,
      'own-worker.js': 'postMessage("ran")',
      'own-worklet.js':
        'registerProcessor("own", class extends AudioWorkletProcessor { process() { return false; } })',
    });
    const page = await here.open({ url });
    const found = await page.evaluate(() => (window as unknown as { found: Promise<unknown> }).found);
    expect(found).toEqual({
      wasm: '[object WebAssembly.Module]',
      worker: 'ran',
      worklet: 'loaded',
      inline: false,
      text: 'EvalError',
      foreign: 'TypeError',
      fetched: 'TypeError',
      blob: 'refused',
    });
  });
});

describe('a browser that denies storage', () => {
  const prepare = (context: BrowserContext) =>
    context.addInitScript(() => {
      for (const name of ['localStorage', 'sessionStorage'])
        Object.defineProperty(window, name, {
          get: () => {
            throw new DOMException('Access is denied for this document.', 'SecurityError');
          },
        });
    });

  it('shows a page that works, and only forgets', async () => {
    const person = new Person(await here.open({ prepare }));
    const { page } = person;
    await person.say('Send $30 to Alice');
    await person.card('requested').waitFor();
    await person.approve();
    await person.card('done').waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('menuitemradio', { name: 'Dark' }).click();
    await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
    await page.reload();
    await person.card('done').waitFor();
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('light');
  });
});
