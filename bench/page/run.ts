// The first load of the demo's page on a slow line: how many bytes cross it, and the time to the first paint.
import { loadavg } from 'node:os';
import type { Browser } from 'playwright-core';
import { built } from '../../test/browser/support/built.ts';
import { launch } from '../../test/browser/support/launch.ts';
import { DemoServer } from '../../test/browser/support/server.ts';
import { type Figure, submit } from '../report/figure.ts';
import { median, spread } from '../report/stats.ts';

const REPETITIONS = Number(process.argv[2] ?? 5);
/** 1.6 Mbit/s down, 0.75 up, 150 ms there and back: the "slow 4G" profile of browser developer tools. */
const LINE = {
  offline: false,
  downloadThroughput: 1_600_000 / 8,
  uploadThroughput: 750_000 / 8,
  latency: 150,
};
const BYTES = 200 * 1024;
const MS = 2_000;

interface Load {
  bytes: number;
  requests: number;
  /** The time of the first paint, and the time when the message field became usable. */
  pictureMs: number;
  readyMs: number;
}

/** Loads the page with an empty cache, on a CPU slowed down by a factor. */
async function load(browser: Browser, url: string, slowdown: number): Promise<Load> {
  const context = await browser.newContext({ locale: 'en-US' });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let bytes = 0;
  let requests = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
    requests++;
  });
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', LINE);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  await page.goto(url);
  await page.locator('#message').waitFor();
  const readyMs = await page.evaluate(() => performance.now());
  await page.waitForLoadState('networkidle');
  const pictureMs = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
  );
  await context.close();
  return { bytes, requests, pictureMs, readyMs };
}

console.log(`load before: ${loadavg().join(' ')}`);
await built();
const server = await new DemoServer().start();
const browser = await launch();
try {
  const loads: Load[] = [];
  const slow: Load[] = [];
  for (let time = 0; time < REPETITIONS; time++) {
    loads.push(await load(browser, server.url, 1));
    slow.push(await load(browser, server.url, 4));
  }
  const of = (name: keyof Load, all = loads) => all.map((one) => one[name]);
  for (const [what, all] of [
    ['processor as it is', loads],
    ['processor four times slower', slow],
  ] as const) {
    const ms = (name: 'pictureMs' | 'readyMs') => `${median(of(name, all)).toFixed(0)} ms`;
    console.log(
      `${what}: ${median(of('bytes', all))} bytes in ${median(of('requests', all))} requests, first picture ${ms('pictureMs')}, ready ${ms('readyMs')}`,
    );
  }
  const figures: Figure[] = [
    {
      name: 'bytes of the first load, font included / 200 KiB',
      ratio: spread(of('bytes').map((bytes) => bytes / BYTES)),
      goal: { atMost: 1 },
    },
    {
      name: 'first picture at 1.6 Mbit/s and 150 ms / 2 s',
      ratio: spread(of('pictureMs').map((ms) => ms / MS)),
      goal: { atMost: 1 },
    },
    {
      name: 'the same with a processor four times slower / 2 s',
      ratio: spread(of('pictureMs', slow).map((ms) => ms / MS)),
      goal: { atMost: 1 },
    },
  ];
  submit(figures, { loads, slow });
  const isMet = figures.every(({ ratio }) => ratio.median <= 1);
  console.log(isMet ? 'all goals are met' : 'MISSED');
  process.exitCode = isMet ? 0 : 1;
} finally {
  await browser.close();
  await server.dispose();
}
