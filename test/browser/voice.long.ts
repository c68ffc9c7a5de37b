import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch } from './support/launch.ts';
import { DemoServer } from './support/server.ts';
import { furnish, Talker } from './support/talker.ts';

const RATE = 16_000;
const clips = new URL('../demo/voice/clips/', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'voice-'));
const server = new DemoServer({
  DUOLOGUE_DATA: join(folder, 'data'),
  DUOLOGUE_APPROVAL_TIMEOUT_MS: '120000',
  // As npm fetches: the same registry, trusted in the same way.
  ...named('npm_config_registry', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'),
});
let browser: Browser;

/** The demo as a new user has it, without a key; what voice needs is fetched once, as the page does it. */
beforeAll(async () => {
  [browser] = await Promise.all([launch(), server.start()]);
  for (const path of ['/voice', '/voice/detector']) {
    let now = await (await fetch(server.url + path, { method: 'POST' })).json();
    while (now.status === 'fetching') {
      await new Promise((resolve) => setTimeout(resolve, 500));
      now = await (await fetch(server.url + path)).json();
    }
    expect(now).toEqual({ status: 'ready' });
  }
}, 300_000);

afterAll(async () => {
  await browser?.close();
  await server.dispose();
  rmSync(folder, { recursive: true, force: true });
});

async function talker(context?: BrowserContext): Promise<Talker> {
  const own = context ?? (await browser.newContext({ locale: 'en-US' }));
  own.setDefaultTimeout(60_000);
  await own.addInitScript(() => {
    if (self.origin !== 'null') localStorage.setItem('duologue.mode', 'bidi');
  });
  if (!context) await furnish(own);
  const page = await own.newPage();
  await page.goto(server.url);
  return Talker.at(page);
}

describe('without a key, offline once its parts are there', () => {
  test('a question is understood, calls the tool and is answered aloud; whoever presses again is not talked over', async () => {
    const person = await talker();
    await person.talk('weather');
    await person.own.getByText('What is the weather in Tokyo?').waitFor();
    await person.hears();
    expect(await person.toolsDone()).toEqual(['get_weather']);
    await person.hold();
    expect(await person.silentAfter()).toBeLessThan(50);
    await person.utter('payment');
    await person.letGo();
  }, 120_000);

  test('two people at once: hands-free, with the detector that knows voices', async () => {
    const people = await Promise.all([talker(), talker()]);
    await Promise.all(
      people.map(async (person) => {
        await person.handsFree();
        await person.page.locator('[data-testid="voice-bar"][data-detector="ready"]').waitFor();
        await person.utter('weather');
        await person.own.getByText('What is the weather in Tokyo?').waitFor();
        await person.hears();
        expect(await person.toolsDone()).toEqual(['get_weather']);
      }),
    );
  }, 180_000);

  test('a payment that is asked for aloud opens a card, and only the card decides', async () => {
    const person = await talker();
    await person.talk('payment');
    await person.card('requested').waitFor();
    await person.approve();
    await person.card('done').waitFor();
  }, 120_000);

  test("the browser's own microphones are heard, and exchanged while they are on, as are its loudspeakers", async () => {
    const file = join(folder, 'question.wav');
    const clip = readFileSync(new URL('weather.wav', clips));
    const pause = Buffer.alloc(RATE * 2 * 8);
    const sound = Buffer.concat([pause.subarray(0, RATE * 2 * 6), clip.subarray(44), pause]);
    const header = Buffer.from(clip.subarray(0, 44));
    header.writeUInt32LE(36 + sound.length, 4);
    header.writeUInt32LE(sound.length, 40);
    writeFileSync(file, Buffer.concat([header, sound]));
    const own = await launch([
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      `--use-file-for-fake-audio-capture=${file}`,
    ]);
    try {
      const person = await talker(await own.newContext({ locale: 'en-US', permissions: ['microphone'] }));
      await person.handsFree();
      const questions = person.own.getByText(/weather in Tokyo/);
      await questions.first().waitFor();
      const names = await person.page.evaluate(async () => {
        const all = await navigator.mediaDevices.enumerateDevices();
        const last = (kind: string) =>
          all.findLast((one) => one.kind === kind && one.deviceId !== 'default')?.label ?? '';
        return { microphone: last('audioinput'), loudspeaker: last('audiooutput') };
      });
      const chosen = (name: string) =>
        person.page.getByRole('menuitemradio', { name, exact: true, checked: true });
      // Each of them says the same, from its beginning on when it is switched on.
      const before = await questions.count();
      await person.choose(names.microphone);
      await questions.nth(before).waitFor();
      await person.choose(names.loudspeaker);
      await person.bar.getByRole('button', { name: 'Voice settings' }).click();
      await chosen(names.microphone).waitFor();
      await chosen(names.loudspeaker).waitFor();
      expect(await person.page.getByTestId('voice-error').count()).toBe(0);
    } finally {
      await own.close();
    }
  }, 180_000);
});

function named(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
