/**
 * What 20 ms of sound up and 20 ms down cost a server: through our transport, against a bare `ws` echo of the same sizes and against
 * base64 in JSON; and how many people may speak at once on one core.
 *
 *   npm run bench -- sound [--against <commit>] [--repetitions <n>]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Figure, goalText, submit, verdict } from '../report/figure.ts';
import { median, quantile, spread } from '../report/stats.ts';
import { printTable } from '../report/table.ts';
import { buildAt, buildHere, commitOf } from '../streams/builds.ts';
import { connect, pairs, talk, WIRES, type Wire } from './client.ts';
import { DOWN_BYTES, UP_BYTES } from './sizes.ts';

const { values: options } = parseArgs({
  options: { against: { type: 'string' }, repetitions: { type: 'string' } },
});
const earlier = options.against === undefined ? null : commitOf(options.against);
/** `earlier` is the whole server with ADK of another commit. */
type Variant = 'bare' | 'again' | 'json' | 'ours' | 'adk' | 'earlier';
const VARIANTS: Variant[] = [
  'bare',
  'again',
  'json',
  'ours',
  'adk',
  ...(earlier ? ['earlier' as const] : []),
];
const build = buildHere();
const earlierBuild = earlier ? buildAt(earlier) : '';

const CONNECTIONS = 32;
const ROUNDS = Number(options.repetitions ?? 9);
const ROUND_MS = 700;
const WARM_MS = 1500;
/** The increasing numbers of simultaneous speakers, and how long each number is tried. */
const CROWDS = [25, 50, 100, 200, 300, 400, 600, 800, 1000, 1300];
const CROWD_MS = 1500;
/** How often a number that failed is retried: another process may have used the CPU for a moment. */
const TRIES = 3;
const MOST_MS = 20;

/** What the server process of a variant serves. */
const SERVED: Record<Variant, string> = {
  bare: 'bare',
  again: 'bare',
  json: 'json',
  ours: 'ours',
  adk: 'adk',
  earlier: 'adk',
};

interface Running {
  child: ChildProcess;
  port: number;
  wire: Wire;
}

async function start(variant: Variant): Promise<Running> {
  const child = fork(
    fileURLToPath(new URL('server.ts', import.meta.url)),
    [SERVED[variant], variant === 'earlier' ? earlierBuild : build],
    { execArgv: ['--import', 'tsx'], env: { ...process.env, ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS: 'false' } },
  );
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const wire = WIRES[variant];
  if (!wire) throw new Error(`There is no wire for ${variant}.`);
  return { child, port, wire };
}

async function ask(child: ChildProcess, word: 'begin' | 'end'): Promise<{ cpuUs: number; bytes: number }> {
  child.send(word);
  const [reported] = (await once(child, 'message')) as [{ cpuUs: number; bytes: number }];
  return reported;
}

async function stop({ child }: Running): Promise<void> {
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
}

/** The CPU of a pair in each round, by variant; and the bytes of a pair. */
async function costs(): Promise<{ us: Record<Variant, number[]>; bytes: Record<Variant, number> }> {
  const us = Object.fromEntries(VARIANTS.map((name) => [name, [] as number[]])) as Record<Variant, number[]>;
  const bytes = {} as Record<Variant, number>;
  const all = new Map<Variant, Running & { sockets: Awaited<ReturnType<typeof connect>> }>();
  for (const variant of VARIANTS) {
    const running = await start(variant);
    const sockets = await connect(running.port, running.wire, CONNECTIONS);
    await pairs(sockets, running.wire, WARM_MS);
    all.set(variant, { ...running, sockets });
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < VARIANTS.length; i++) {
      const variant = VARIANTS[(i + round) % VARIANTS.length] ?? 'bare';
      const one = all.get(variant);
      if (!one) continue;
      await ask(one.child, 'begin');
      const count = await pairs(one.sockets, one.wire, ROUND_MS);
      const used = await ask(one.child, 'end');
      us[variant].push(used.cpuUs / count);
      bytes[variant] = used.bytes / count;
    }
  }
  for (const one of all.values()) {
    for (const socket of one.sockets) socket.terminate();
    await stop(one);
  }
  return { us, bytes };
}

/** The most simultaneous speakers with a p99 delay below 20 ms, and the delays for each number at its best try. */
async function crowd(variant: Variant): Promise<{ most: number; p99: Record<number, number> }> {
  const p99: Record<number, number> = {};
  let most = 0;
  const running = await start(variant);
  const sockets: Awaited<ReturnType<typeof connect>> = [];
  for (const people of CROWDS) {
    sockets.push(...(await connect(running.port, running.wire, people - sockets.length)));
    await talk(sockets, running.wire, 300);
    let late = Number.POSITIVE_INFINITY;
    for (let tried = 0; tried < TRIES && !(late < MOST_MS); tried++)
      late = Math.min(late, quantile(await talk(sockets, running.wire, CROWD_MS), 0.99));
    p99[people] = late;
    if (!(late < MOST_MS)) break;
    most = people;
  }
  for (const socket of sockets) socket.terminate();
  await stop(running);
  return { most, p99 };
}

const { us, bytes } = await costs();
const cpu = Object.fromEntries(VARIANTS.map((name) => [name, Math.round(median(us[name]) * 100) / 100]));
console.log('CPU of a pair, in microseconds:', cpu);
const against = (a: Variant, b: Variant) =>
  spread(us[a].map((value, round) => value / (us[b][round] ?? Number.NaN)));
const base = (a: Variant) =>
  spread(us[a].map((value, round) => (2 * value) / ((us.bare[round] ?? 0) + (us.again[round] ?? 0))));
const noise = median(us.again.map((value, round) => value / (us.bare[round] ?? Number.NaN)));
const pcm = UP_BYTES + DOWN_BYTES;
const wireBytes = bytes.ours / pcm;
const crowds = { bare: await crowd('bare'), ours: await crowd('ours'), adk: await crowd('adk') };
const one = (ratio: number) => ({ median: ratio, low: ratio, high: ratio });

const figures: Figure[] = [
  {
    name: '20 ms up and down, our transport / bare ws echo',
    ratio: base('ours'),
    goal: { atMost: 1.1 },
    noise,
  },
  { name: 'the same / base64 in JSON', ratio: against('ours', 'json'), goal: { atMost: 0.75 }, noise },
  { name: 'bytes on the wire / bytes of sound', ratio: one(wireBytes), goal: { atMost: 1.02 } },
  { name: '20 ms up and down with ADK, our whole server / bare ws echo', ratio: base('adk'), noise },
];
if (earlier)
  figures.push({
    name: `the same with ADK / at ${earlier.slice(0, 8)}`,
    ratio: against('adk', 'earlier'),
    noise,
  });
const { bare, ours, adk } = crowds;
if (bare.most > 0) {
  const people = `people who speak at once on a core, p99 under ${MOST_MS} ms`;
  figures.push(
    { name: `${people}: ours (${ours.most}) / bare (${bare.most})`, ratio: one(ours.most / bare.most) },
    { name: `the same with ADK (${adk.most}) / bare (${bare.most})`, ratio: one(adk.most / bare.most) },
  );
} else console.log('The machine is too busy to tell how many people may speak at once.');
console.log('p99 of the delay by people:', JSON.stringify(crowds));
printTable(
  figures.map((figure) => ({
    what: figure.name,
    ratio: figure.ratio.median.toFixed(3),
    range: `${figure.ratio.low.toFixed(2)} – ${figure.ratio.high.toFixed(2)}`,
    goal: goalText(figure.goal),
    '': verdict(figure),
  })),
);
submit(figures, { cpu, bytes, crowds });
