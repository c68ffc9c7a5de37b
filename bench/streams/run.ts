/**
 * The server against lower bounds and comparable libraries: CPU for a delta, time to the first delta, age of a delta.
 *
 *   tsx streams/run.ts [--quick] [--against <commit>] [--only <part of a name>] [--pace <pace>] [--trials <n>] [--repetitions <n>]
 */
import { parseArgs } from 'node:util';
import { type Figure, submit } from '../report/figure.ts';
import { isQuiet, median, quantile, spread } from '../report/stats.ts';
import { printTable } from '../report/table.ts';
import { buildAt, buildHere, commitOf } from './builds.ts';
import { exchange, type Sample } from './exchange.ts';
import { type Load, PACES } from './load.ts';
import { Served } from './served.ts';
import { AGAIN, BASE, FLOORS, OURS_SSE, ours, PEERS, type Variant } from './variants.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    only: { type: 'string' },
    pace: { type: 'string' },
    trials: { type: 'string' },
    repetitions: { type: 'string' },
  },
});

interface Plan extends Load {
  warmUps: number;
  repetitions: number;
}

const trials = Number(options.trials ?? (options.quick ? 1 : 2));
const repetitions = Number(options.repetitions ?? (options.quick ? 7 : 5));
const size = { streams: 50, deltas: 570 };
const all: Plan[] = [
  { pace: 'tick1', ...size, warmUps: 2, repetitions },
  { pace: 'tick8', ...size, warmUps: 1, repetitions },
  {
    pace: 'pace20',
    streams: 50,
    deltas: 95,
    warmUps: 1,
    // An exchange at this pace always takes two seconds, so the default is only a few repetitions.
    repetitions: Number(options.repetitions ?? (options.quick ? 1 : 2)),
  },
];
const plans = all.filter(({ pace }) => options.pace === undefined || pace === options.pace);

/** The goals for our server, as ratios to the base. */
const GOALS: Partial<Record<Load['pace'], number>> = { tick1: 0.85, tick8: 1.3 };

const against = options.against === undefined ? null : commitOf(options.against);
const variants = await chosen();
const samples = new Map<string, Sample[]>();
const started = performance.now();
let run = 0;
for (let trial = 0; trial < trials; trial++) await inFreshProcesses(trial);
report();

async function chosen(): Promise<Variant[]> {
  console.log('compiling ...');
  const all = [
    ...FLOORS,
    ...ours(buildHere()),
    ...(against === null ? [] : ours(buildAt(against), `, at ${against.slice(0, 8)}`)),
    ...(options.quick ? [] : PEERS),
  ];
  const { only } = options;
  return only === undefined ? all : all.filter(({ name }) => name.startsWith(BASE) || name.includes(only));
}

async function inFreshProcesses(trial: number): Promise<void> {
  const servers = await Promise.all(variants.map((variant) => Served.start(variant)));
  try {
    for (const plan of plans) {
      for (let repetition = -plan.warmUps; repetition < plan.repetitions; repetition++) {
        await once(plan, trial, repetition, servers);
      }
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** Measures every variant once; the order rotates by one each time. */
async function once(plan: Plan, trial: number, repetition: number, servers: Served[]): Promise<void> {
  const first = (repetition + plan.warmUps) % servers.length;
  const order = [...servers.slice(first), ...servers.slice(0, first)];
  if (trial % 2 === 1) order.reverse();
  for (const served of order) {
    const sample = await exchange(served, plan, `r${run++}`);
    if (repetition < 0) continue;
    const key = keyOf(plan, served.variant);
    samples.set(key, [...(samples.get(key) ?? []), sample]);
  }
  const what = repetition < 0 ? 'warm-up' : `repetition ${repetition + 1} of ${plan.repetitions}`;
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`${seconds.padStart(5)} s  trial ${trial + 1} of ${trials}, ${plan.pace}, ${what}`);
}

function keyOf({ pace }: Load, { name }: Variant): string {
  return `${pace} ${name}`;
}

function ratiosOf(plan: Plan, name: string): number[] {
  const of = (other: string): Sample[] => samples.get(`${plan.pace} ${other}`) ?? [];
  const base = of(BASE).map(({ cpuUs }, index) => (cpuUs + (of(AGAIN)[index]?.cpuUs ?? cpuUs)) / 2);
  return of(name).map(({ cpuUs }, index) => cpuUs / (base[index] ?? Number.NaN));
}

function report(): void {
  const figures: Figure[] = [];
  const loads = plans.map((plan) => {
    const pair = samples.get(`${plan.pace} ${AGAIN}`) ?? [];
    const noise = median(
      pair.map(
        ({ cpuUs }, index) => cpuUs / (samples.get(`${plan.pace} ${BASE}`)?.[index]?.cpuUs ?? Number.NaN),
      ),
    );
    const rows = variants.map((variant) => rowOf(plan, variant));
    console.log(`\n${PACES[plan.pace]}, ${plan.streams} streams of ${plan.deltas} deltas`);
    console.log(`A/A ${noise.toFixed(2)}${isQuiet(noise) ? '' : '  INVALID: the machine is too busy'}`);
    printTable(rows.map(shown));
    for (const { name, ratio } of rows) {
      if (name === AGAIN || name === BASE) continue;
      const goal = name === OURS_SSE ? GOALS[plan.pace] : undefined;
      const says = `${name} / ${BASE}, ${PACES[plan.pace]}`;
      figures.push({ name: says, ratio, noise, ...(goal === undefined ? {} : { goal: { atMost: goal } }) });
    }
    for (const { name, ratio } of beside(plan)) {
      console.log(`${name}: ${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`);
      figures.push({ name: `${name}, ${PACES[plan.pace]}`, ratio, noise });
    }
    return { ...plan, says: PACES[plan.pace], noise, isValid: isQuiet(noise), rows };
  });
  const whole: StreamsDetail = { base: BASE, against, loads };
  submit(figures, whole);
}

/** Compares this build with the other one within each repetition, without the base. */
function beside(plan: Plan): Pick<Figure, 'name' | 'ratio'>[] {
  if (against === null) return [];
  const at = `, at ${against.slice(0, 8)}`;
  return variants.flatMap((variant) => {
    const other = variants.find(({ name }) => name === variant.name + at);
    if (!other) return [];
    const before = samples.get(keyOf(plan, other)) ?? [];
    const now = samples.get(keyOf(plan, variant)) ?? [];
    const ratios = now.map(({ cpuUs }, index) => cpuUs / (before[index]?.cpuUs ?? Number.NaN));
    return [{ name: `${variant.name} / the same${at}`, ratio: spread(ratios) }];
  });
}

/** All results, by pace. */
export interface StreamsDetail {
  base: string;
  against: string | null;
  loads: (Plan & { says: string; noise: number; isValid: boolean; rows: Row[] })[];
}

/** The results of one variant at one pace. */
interface Row {
  name: string;
  runsAdk: boolean;
  ratio: Figure['ratio'];
  cpuUs: number;
  first: { p50: number; p99: number };
  age: { p50: number; p99: number };
  wall: number;
  rssMiB: number;
}

function rowOf(plan: Plan, variant: Variant): Row {
  const taken = samples.get(keyOf(plan, variant)) ?? [];
  const first = taken.flatMap((sample) => sample.first);
  const ages = taken.flatMap((sample) => [...sample.ages]);
  return {
    name: variant.name,
    runsAdk: variant.runsAdk,
    ratio: spread(ratiosOf(plan, variant.name)),
    cpuUs: median(taken.map(({ cpuUs }) => cpuUs)),
    first: { p50: quantile(first, 0.5), p99: quantile(first, 0.99) },
    age: { p50: quantile(ages, 0.5), p99: quantile(ages, 0.99) },
    wall: median(taken.map(({ wall }) => wall)),
    rssMiB: Math.max(...taken.map(({ rssMiB }) => rssMiB)),
  };
}

function shown({ name, runsAdk, ratio, cpuUs, first, age, wall, rssMiB }: Row): Record<string, string> {
  const ms = (value: number): string => value.toFixed(value < 10 ? 1 : 0);
  return {
    server: name,
    ADK: runsAdk ? 'yes' : 'no',
    'CPU / base': ratio.median.toFixed(2),
    range: `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}`,
    'µs a delta': cpuUs.toFixed(1),
    'first p50 / p99 ms': `${ms(first.p50)} / ${ms(first.p99)}`,
    'age p50 / p99 ms': `${ms(age.p50)} / ${ms(age.p99)}`,
    'all ms': ms(wall),
    'RSS MiB': rssMiB.toFixed(0),
  };
}
