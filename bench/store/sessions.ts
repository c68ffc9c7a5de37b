import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Figure, submit } from '../report/figure.ts';
import { isQuiet, median, type Spread, spread } from '../report/stats.ts';
import { fill, runTrial, type Samples } from './trial.ts';

/**
 * Sessions in our store against ADK's own services. Each trial is a fresh process; inside it all variants run
 * interleaved in rotating order, and every ratio is taken within one repetition. An A/A pair of the same variant shows
 * the noise: when its pooled ratio leaves 0.90 to 1.10, the measure is marked invalid.
 */
const TRIALS = 3;

interface Claim {
  measure: string;
  variant: string;
  base: string;
  goal: { atLeast: number } | { atMost: number } | null;
  /** Base over variant (how many times faster) or variant over base. */
  as: 'speed-up' | 'cost';
}

/** A claim and its measured result. */
interface Row extends Claim {
  wall: Spread;
  cpu: Spread;
}

const claims: Claim[] = [
  { measure: 'append', variant: 'ours', base: 'adk-database', goal: { atLeast: 20 }, as: 'speed-up' },
  { measure: 'append', variant: 'ours', base: 'adk-memory', goal: null, as: 'cost' },
  { measure: 'append', variant: 'ours-again', base: 'ours', goal: null, as: 'cost' },
  { measure: 'load-5000', variant: 'ours', base: 'adk-database', goal: { atLeast: 10 }, as: 'speed-up' },
  { measure: 'load-5000', variant: 'ours-ready', base: 'adk-database', goal: null, as: 'speed-up' },
  { measure: 'load-5000', variant: 'ours-again', base: 'ours', goal: null, as: 'cost' },
  { measure: 'turn-start-1000', variant: 'ours', base: 'adk-memory', goal: { atMost: 1.1 }, as: 'cost' },
  { measure: 'turn-start-1000', variant: 'adk-memory-again', base: 'adk-memory', goal: null, as: 'cost' },
];

const [mode, folder] = process.argv.slice(2);
if (mode === 'fill' && folder !== undefined) {
  await fill(folder);
  process.exit(0);
} else if (mode === 'trial' && folder !== undefined) {
  writeSync(1, `${JSON.stringify(await runTrial(folder))}\n`);
  // ADK's database service cannot be closed, and keeps the process alive.
  process.exit(0);
} else {
  await main();
}

async function main(): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'duologue-bench-store-'));
  try {
    const filled = join(work, 'filled');
    mkdirSync(filled);
    console.log('Filling both databases with a session of 5,000 events ...');
    child('fill', filled);
    const trials: Samples[] = [];
    for (let trial = 0; trial < TRIALS; trial++) {
      console.log(`Trial ${trial + 1} of ${TRIALS} ...`);
      const own = join(work, `trial-${trial}`);
      cpSync(filled, own, { recursive: true });
      trials.push(JSON.parse(child('trial', own)) as Samples);
      rmSync(own, { recursive: true });
    }
    report(trials);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function child(task: string, path: string): string {
  const script = fileURLToPath(import.meta.url);
  const result = spawnSync(process.execPath, [...process.execArgv, script, task, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    timeout: 240_000,
  });
  if (result.status !== 0)
    throw new Error(`The ${task} process ended with ${result.status ?? result.signal}.`);
  return result.stdout;
}

function report(trials: Samples[]): void {
  const rows = claims.map((claim) => {
    const ratios = (clock: 'wall' | 'cpu'): number[] =>
      trials.flatMap((samples) => {
        const variant = samples[claim.measure]?.[claim.variant] ?? [];
        const base = samples[claim.measure]?.[claim.base] ?? [];
        return variant.map((sample, index) => {
          const ratio = sample[clock] / (base[index]?.[clock] ?? Number.NaN);
          return claim.as === 'speed-up' ? 1 / ratio : ratio;
        });
      });
    const wall = spread(ratios('wall'));
    const cpu = spread(ratios('cpu'));
    return { ...claim, wall, cpu, verdict: verdictOf(claim, wall.median, cpu.median) };
  });
  const times = Object.entries(trials[0] ?? {}).flatMap(([measure, variants]) =>
    Object.keys(variants).map((variant) => {
      const samples = trials.flatMap((trial) => trial[measure]?.[variant] ?? []);
      return {
        measure,
        variant,
        wallMs: median(samples.map((sample) => sample.wall)),
        cpuMs: median(samples.map((sample) => sample.cpu)),
      };
    }),
  );
  console.table(
    times.map(({ measure, variant, wallMs, cpuMs }) => ({
      measure,
      variant,
      'wall ms': wallMs.toFixed(3),
      'cpu ms': cpuMs.toFixed(3),
    })),
  );
  console.table(
    rows.map(({ measure, variant, base, as, wall, cpu, verdict }) => ({
      measure,
      ratio: as === 'speed-up' ? `${base} / ${variant}` : `${variant} / ${base}`,
      'wall (range)': shown(wall),
      'cpu (range)': shown(cpu),
      verdict,
    })),
  );
  submit(
    rows.filter(({ variant }) => !variant.endsWith('-again')).map((row) => figureOf(row, rows)),
    times,
  );
  if (rows.some((row) => row.verdict.startsWith('missed') || row.verdict === 'invalid')) process.exitCode = 1;
}

function verdictOf(claim: Claim, wall: number, cpu: number): string {
  if (claim.variant.endsWith('-again')) return isQuiet(wall) && isQuiet(cpu) ? 'A/A valid' : 'invalid';
  if (claim.goal === null) return '';
  if ('atLeast' in claim.goal) {
    return Math.min(wall, cpu) >= claim.goal.atLeast
      ? `met (>= ${claim.goal.atLeast})`
      : `missed (>= ${claim.goal.atLeast})`;
  }
  return Math.max(wall, cpu) <= claim.goal.atMost
    ? `met (<= ${claim.goal.atMost})`
    : `missed (<= ${claim.goal.atMost})`;
}

/** The result of a claim in CPU time, with the A/A ratio of the same measurement. */
function figureOf({ measure, variant, base, as, cpu, goal }: Row, rows: Row[]): Figure {
  const pair = rows.find((row) => row.measure === measure && row.variant.endsWith('-again'));
  return {
    name: `${measure}: ${as === 'speed-up' ? `${base} / ${variant}` : `${variant} / ${base}`}`,
    ratio: cpu,
    ...(pair ? { noise: pair.cpu.median } : {}),
    ...(goal ? { goal } : {}),
  };
}

function shown({ median: middle, low, high }: Spread): string {
  return `${middle.toFixed(2)} (${low.toFixed(2)} - ${high.toFixed(2)})`;
}
