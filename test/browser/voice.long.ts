import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Accidents } from '../demo/voice/support/accidents.ts';
import { launch } from './support/launch.ts';
import { DemoServer } from './support/server.ts';
import { furnish, Talker } from './support/talker.ts';

declare global {
  interface Window {
    /** The names of the browser's own microphones that are on. */
    microphonesOn(): string[];
  }
}

const RATE = 16_000;
/** The words of a clip. */
const QUESTION = 'What is the weather in Tokyo?';
const clips = new URL('../demo/voice/clips/', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'voice-'));
const data = join(folder, 'data');
const WEIGHTS = 'moonshine-js-0.1.29/dist/model/tiny/quantized/decoder_model_merged.onnx';
/** As npm fetches: the same registry, trusted in the same way. */
const network = named('npm_config_registry', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE');
const accidents = new Accidents(join(folder, 'accidents'));
const server = new DemoServer({
  DUOLOGUE_DATA: data,
  DUOLOGUE_APPROVAL_TIMEOUT_MS: '120000',
  ...accidents.environment,
});
let browser: Browser;
/** What pages wanted from elsewhere. */
const outside: string[] = [];

/** The demo as a new user has it, without a key; what voice needs is fetched once, as the page does it. From then on there is no network. */
beforeAll(async () => {
  const online = new DemoServer({ DUOLOGUE_DATA: data, ...network });
  [browser] = await Promise.all([launch(), online.start()]);
  for (const path of ['/voice', '/voice/detector'])
    expect(await fetched(online, path)).toEqual({ status: 'ready' });
  await online.dispose();
  await server.start();
}, 300_000);

afterAll(async () => {
  await browser?.close();
  await server.dispose();
  rmSync(folder, { recursive: true, force: true });
});

afterEach(() => {
  accidents.happen(null);
  expect([outside, server.printed.match(/WENT OUTSIDE.*/g)]).toEqual([[], null]);
});

/** Has the server fetch a part of voice, and gives how that ended. */
async function fetched(from: DemoServer, path: string): Promise<unknown> {
  let now = await (await fetch(from.url + path, { method: 'POST' })).json();
  while (now.status === 'fetching') {
    await new Promise((resolve) => setTimeout(resolve, 500));
    now = await (await fetch(from.url + path)).json();
  }
  return now;
}

async function talker(context?: BrowserContext, url = server.url): Promise<Talker> {
  const own = context ?? (await browser.newContext({ locale: 'en-US' }));
  own.setDefaultTimeout(60_000);
  await own.route(
    ({ hostname }) => hostname !== 'localhost',
    (route) => {
      outside.push(route.request().url());
      return route.abort();
    },
  );
  await own.addInitScript(() => {
    if (self.origin !== 'null') localStorage.setItem('duologue.mode', 'bidi');
  });
  if (!context) await furnish(own);
  const page = await own.newPage();
  await page.goto(url);
  return Talker.at(page);
}

describe('without a key, offline once its parts are there', () => {
  test('a question is understood, calls the tool and is answered aloud; whoever presses again is not talked over', async () => {
    const person = await talker();
    await person.talk('weather');
    await person.own.getByText(QUESTION).waitFor();
    await person.hears();
    await expect.poll(() => person.toolsDone()).toEqual(['get_weather']);
    await person.hold();
    expect(await person.silentAfter()).toBeLessThan(50);
    await person.utter('payment');
    await person.letGo();
    // A machine that is busy records with gaps: not every word comes through.
    await person.own.getByText(/dollars/).waitFor();
  }, 120_000);

  test('two people at once: hands-free, with the detector that knows voices', async () => {
    const people = await Promise.all([talker(), talker()]);
    await Promise.all(
      people.map(async (person) => {
        await person.handsFree();
        await person.page.locator('[data-testid="voice-bar"][data-detector="ready"]').waitFor();
        await person.utter('weather');
        await person.own.getByText(QUESTION).waitFor();
        await person.heard();
        await expect.poll(() => person.toolsDone()).toEqual(['get_weather']);
      }),
    );
    await Promise.all(people.map(({ page }) => page.context().close()));
  }, 180_000);

  test('hands-free, whoever begins to speak is not talked over, and is heard', async () => {
    const person = await talker();
    await person.handsFree();
    await person.page.locator('[data-testid="voice-bar"][data-detector="ready"]').waitFor();
    await person.utter('weather');
    await person.hears();
    const spoken = person.utter('payment');
    await person.isNoticed(2);
    await person.page.waitForFunction(() => window.room.listen().level < 0.001);
    await spoken;
    // A machine that is busy records with gaps: not every word comes through.
    await person.own.getByText(/dollars/).waitFor();
  }, 120_000);

  test('a payment that is asked for aloud opens a card, and only the card decides', async () => {
    const person = await talker();
    await person.talk('payment');
    await person.card('requested').waitFor();
    await person.approve();
    await person.card('done').waitFor();
  }, 120_000);

  test('typed Japanese is answered in Japanese, in writing', async () => {
    const person = await talker();
    await person.say('東京の天気は？');
    await person.answers.getByText(/東京/).first().waitFor();
    await expect.poll(() => person.toolsDone()).toEqual(['get_weather']);
  }, 120_000);

  test('a thread that dies while it listens is told, one that dies in the middle of a sentence leaves the text whole, and the next one goes on', async () => {
    const person = await talker();
    accidents.happen('listening');
    await person.talk('weather');
    await person.page.getByText(/could not be recognised: its worker thread ended/).waitFor();
    accidents.happen('speaking');
    await person.talk('weather');
    await person.own.getByText(QUESTION).waitFor();
    await person.answers.last().getByText(/Tokyo/).first().waitFor();
    await expect.poll(() => person.isBusy()).toBe(false);
    const cut = await person.answers.last().innerText();
    accidents.happen(null);
    await person.page.evaluate(() => {
      window.room.heard = null;
    });
    await person.talk('weather');
    await expect.poll(() => person.answers.count()).toBe(2);
    await person.heard();
    await expect.poll(() => person.answers.last().innerText()).toBe(cut);
  }, 180_000);

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
      const context = await own.newContext({ locale: 'en-US', permissions: ['microphone'] });
      await context.addInitScript(() => {
        const { mediaDevices } = navigator;
        const ask = mediaDevices.getUserMedia.bind(mediaDevices);
        const tracks: MediaStreamTrack[] = [];
        mediaDevices.getUserMedia = async (wanted) => {
          const stream = await ask(wanted);
          tracks.push(...stream.getTracks());
          return stream;
        };
        window.microphonesOn = () =>
          tracks.filter(({ readyState }) => readyState === 'live').map(({ label }) => label);
      });
      const person = await talker(context);
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
      const on = () => person.page.evaluate(() => window.microphonesOn());
      expect(await on()).not.toEqual([names.microphone]);
      await person.choose(names.microphone);
      await expect.poll(on).toEqual([names.microphone]);
      // Each of them says the same, from its beginning on when it is switched on.
      const before = await questions.count();
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

describe('weights that are not what they should be', () => {
  test('those that were cut short since are missed, told, fetched again when there is a network, and then voice works', async () => {
    const weights = join(data, 'voice', WEIGHTS);
    await server.stop();
    truncateSync(weights, 1_000_000);
    await server.start();
    const person = await talker();
    await person.microphone.click();
    await person.page
      .getByTestId('voice-failed')
      .getByText(/Voice could not be downloaded/)
      .waitFor();
    await person.say(QUESTION);
    await person.answers.getByText(/Tokyo/).first().waitFor();
    await person.page.context().close();
    await server.stop();
    const online = await new DemoServer({ DUOLOGUE_DATA: data, ...network }).start();
    expect(await fetched(online, '/voice')).toEqual({ status: 'ready' });
    await online.dispose();
    await server.start();
    const again = await talker();
    await again.talk('weather');
    await again.own.getByText(QUESTION).waitFor();
    await again.heard();
  }, 180_000);
});

function named(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
