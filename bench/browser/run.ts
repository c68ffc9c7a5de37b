// 4,000 Markdown deltas within one second in Chromium: the CPU of the page with stock useChat, with its throttle, and with ours.
//
//   tsx browser/run.ts [--against <commit>] [--repetitions <n>]
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Browser, CDPSession } from 'playwright-core';
import { build } from 'vite';
import { built } from '../../test/browser/support/built.ts';
import { launch } from '../../test/browser/support/launch.ts';
import { type Figure, submit } from '../report/figure.ts';
import { median, spread } from '../report/stats.ts';
import { buildAt, commitOf } from '../streams/builds.ts';
import type { Bench } from './page.tsx';
import { startSource } from './source.ts';

const DELTAS = 4_000;
const MS = 1_000;
const { values: options } = parseArgs({
  options: { against: { type: 'string' }, repetitions: { type: 'string', default: '3' } },
});
const REPETITIONS = Number(options.repetitions);
const SIZES = [5_000, 10_000, 20_000];

/** What the page runs: stock `useChat`, the same again, the same with its throttle, or ours. */
type Variant = 'stock' | 'again' | 'throttle' | 'sse' | 'bidi';

/** A variant of the page, and the server of the page: the library as it is now, or as it was at the commit to compare with. */
interface Measured {
  name: string;
  variant: Variant;
  url: string;
}

interface Run {
  cpuMs: number;
  renders: number;
  hash: string;
}

/** CPU that the process of the page has used so far, all its threads together. */
async function cpuOf(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'ProcessTime')?.value ?? Number.NaN) * 1000;
}

/** Fails with a clear error when a page does not get its complete answer in time. */
async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const limit = new AbortController();
  const late = sleep(ms, undefined, { signal: limit.signal }).then(() => {
    throw new Error(`${what} had no whole answer within ${ms / 1000} s`);
  });
  return Promise.race([work, late]).finally(() => limit.abort());
}

async function measure(
  browser: Browser,
  url: string,
  variant: Variant,
  renderer: string,
  words: number,
  ms: number,
): Promise<Run> {
  const context = await browser.newContext({ locale: 'en-US' });
  const page = await context.newPage();
  await page.goto(`${url}/?variant=${variant}&renderer=${renderer}`);
  await page.waitForFunction(() => window.bench !== undefined);
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable');
  // A warm-up, because V8 compiles code on its first runs.
  for (let time = 0; time < 2; time++)
    await within(
      30_000,
      variant,
      page.evaluate(() => window.bench?.say('1000 400')),
    );
  await session.send('HeapProfiler.collectGarbage');
  await page.waitForTimeout(300);
  const before = await cpuOf(session);
  const rendersBefore = await page.evaluate(() => window.bench?.renders ?? 0);
  const asked = `${words} ${ms}`;
  const messages = await within(
    60_000,
    variant,
    page.evaluate((texts) => (window.bench as Bench).say(texts), asked),
  );
  const cpuMs = (await cpuOf(session)) - before;
  const renders = (await page.evaluate(() => window.bench?.renders ?? 0)) - rendersBefore;
  await context.close();
  const { parts } = messages.at(-1) as { parts: unknown };
  return { cpuMs, renders, hash: createHash('sha256').update(JSON.stringify(parts)).digest('hex') };
}

const show = (value: number) => value.toFixed(3);
let failed = 0;
const figures: Figure[] = [];
function judge(what: string, values: number[], goal: number, noise?: number): void {
  const ratio = spread(values);
  figures.push({ name: what, ratio, goal: { atMost: goal }, ...(noise === undefined ? {} : { noise }) });
  const value = ratio.median;
  const isMet = value <= goal;
  if (!isMet) failed++;
  console.log(
    `${what.padEnd(52)} ${show(value).padStart(7)}   goal <= ${goal}   ${isMet ? 'met' : 'NOT MET'}`,
  );
}

/** Builds the page into a folder. `library`: the folder of a compiled Duologue, instead of the one that the page would import. */
async function buildPage(folder: string, library?: string): Promise<void> {
  await build({
    root: fileURLToPath(new URL('.', import.meta.url)),
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { outDir: folder, emptyOutDir: true, target: 'es2022' },
    ...(library === undefined
      ? {}
      : { resolve: { alias: [{ find: /^duologue\/(.+)$/, replacement: `${library}/$1/index.js` }] } }),
  });
}

await built();
const folder = mkdtempSync(join(tmpdir(), 'duologue-bench-'));
await buildPage(join(folder, 'now'));
const source = await startSource(join(folder, 'now'));
const { url } = source;
const measured: Measured[] = (['stock', 'again', 'throttle', 'sse', 'bidi'] as const).map((variant) => ({
  name: variant,
  variant,
  url,
}));
const against = options.against === undefined ? null : commitOf(options.against);
const earlier = against === null ? null : await earlierPage(against);
if (earlier) measured.push(...earlier.measured);
const browser = await launch();

/** The page with the library of a commit, on a server of today. */
async function earlierPage(commit: string) {
  await buildPage(join(folder, 'then'), buildAt(commit));
  const { url, close } = await startSource(join(folder, 'then'));
  const both = ['sse', 'bidi'] as const;
  return { close, measured: both.map((variant) => ({ name: `${variant} then`, variant, url })) };
}
try {
  console.log(
    `${DELTAS} deltas in ${MS} ms, ${REPETITIONS} repetitions, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}`,
  );
  const runs: Record<string, Run[]> = Object.fromEntries(measured.map(({ name }) => [name, []]));
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    const first = repetition % measured.length;
    for (const { name, variant, url } of [...measured.slice(first), ...measured.slice(0, first)])
      runs[name]?.push(await measure(browser, url, variant, 'whole', DELTAS, MS));
    console.log(`repetition ${repetition + 1} of ${REPETITIONS}`);
  }
  const runsOf = (name: string): Run[] => runs[name] ?? [];
  for (const { name } of measured) {
    const cpu = median(runsOf(name).map(({ cpuMs }) => cpuMs));
    const renders = median(runsOf(name).map((run) => run.renders));
    console.log(
      `${name.padEnd(10)} ${cpu.toFixed(0).padStart(7)} ms CPU  ${String(renders).padStart(5)} renders`,
    );
  }
  const ratios = (one: string, other: string) =>
    runsOf(one).map(({ cpuMs }, index) => cpuMs / (runsOf(other)[index]?.cpuMs ?? Number.NaN));
  const noise = median(ratios('again', 'stock'));
  console.log(`A/A ${show(noise)}${noise < 0.9 || noise > 1.1 ? '  INVALID: the machine is too busy' : ''}`);
  for (const mode of ['sse', 'bidi'] as const) {
    judge(`ours over ${mode} / stock useChat, same renderer`, ratios(mode, 'stock'), 0.05, noise);
    judge(`ours over ${mode} / experimental_throttle 50`, ratios(mode, 'throttle'), 0.6, noise);
    if (against !== null)
      judge(`ours over ${mode} / at ${against.slice(0, 8)}`, ratios(mode, `${mode} then`), 1.03, noise);
  }
  const hashes = new Set(measured.flatMap(({ name }) => runsOf(name).map(({ hash }) => hash)));
  console.log(`final messages: ${hashes.size === 1 ? 'equal' : 'DIFFERENT'}`);
  if (hashes.size !== 1) failed++;

  console.log('\nThe renderer of the demo, one delta a word, 4,000 a second');
  const perWord: number[] = [];
  for (const words of SIZES) {
    const reps: number[] = [];
    for (let repetition = 0; repetition < REPETITIONS; repetition++) {
      reps.push((await measure(browser, url, 'bidi', 'growing', words, words / 4)).cpuMs);
    }
    perWord.push((median(reps) / words) * 1000);
    console.log(
      `${String(words).padStart(7)} words ${median(reps).toFixed(0).padStart(7)} ms CPU  ${perWord.at(-1)?.toFixed(1)} us a word`,
    );
  }
  judge('CPU a word at 20,000 words / at 5,000', [(perWord.at(-1) ?? 0) / (perWord[0] ?? 1)], 1.5);
  submit(figures, runs);
} finally {
  await browser.close();
  await source.close();
  await earlier?.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);
