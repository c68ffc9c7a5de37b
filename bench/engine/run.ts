import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Figure, goalText, submit, verdict } from '../report/figure.ts';
import { median } from '../report/stats.ts';
import { printTable } from '../report/table.ts';

/**
 * What mapping and encoding add to ADK, and what the server adds to the start of a turn. CPU, medians of ratios within a
 * repetition, pooled over trials in fresh processes; the A/A pair shows the noise.
 *
 *   npx tsx bench/engine/run.ts [trials]
 */
const trials = Number(process.argv[2] ?? 3);
const script = fileURLToPath(new URL('./trial.ts', import.meta.url));

const goals: { kind: string; variant: string; says: string; limit: number | null }[] = [
  { kind: 'fire', variant: 'mapped', says: 'ADK + mapping + encoding to bytes / ADK alone', limit: 1.1 },
  { kind: 'tick8', variant: 'mapped', says: 'the same, 8 deltas per turn of the event loop', limit: 1.1 },
  { kind: 'fire', variant: 'served', says: 'whole server, request to bytes / ADK alone', limit: null },
  { kind: 'tick8', variant: 'served', says: 'the same, 8 deltas per turn of the event loop', limit: null },
  {
    kind: 'start',
    variant: 'served',
    says: 'start of a turn at 1,000 events, whole server / bare ADK',
    limit: 1.1,
  },
];

const measured = new Map<string, Record<string, number[]>[]>();
for (const kind of ['fire', 'tick8', 'start']) {
  const runs: Record<string, number[]>[] = [];
  for (let trial = 0; trial < trials; trial++) {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ['--import', 'tsx', script, kind, kind === 'start' ? '60' : '21'],
      { encoding: 'utf8', env: { ...process.env, ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS: 'false' } },
    );
    if (status !== 0) throw new Error(stderr);
    runs.push(JSON.parse(stdout) as Record<string, number[]>);
  }
  measured.set(kind, runs);
  console.log(`${kind}: ${trials} trials done`);
}

/** Ratios within a repetition, pooled; and the range of the trials' medians. */
function ratios(kind: string, variant: string): Figure['ratio'] {
  const perTrial = (measured.get(kind) ?? []).map((run) =>
    (run[variant] ?? []).map((value, rep) => value / (((run.adk?.[rep] ?? 0) + (run.again?.[rep] ?? 0)) / 2)),
  );
  const medians = perTrial.map(median);
  return { median: median(perTrial.flat()), low: Math.min(...medians), high: Math.max(...medians) };
}

function pairNoise(kind: string): number {
  const pooled = (measured.get(kind) ?? []).flatMap((run) =>
    (run.again ?? []).map((value, rep) => value / (run.adk?.[rep] ?? 0)),
  );
  return median(pooled);
}

const figures = goals.map(
  ({ kind, variant, says, limit }): Figure => ({
    name: says,
    ratio: ratios(kind, variant),
    noise: pairNoise(kind),
    ...(limit === null ? {} : { goal: { atMost: limit } }),
  }),
);
printTable(
  figures.map((figure) => ({
    figure: figure.name,
    ratio: figure.ratio.median.toFixed(3),
    trials: `${figure.ratio.low.toFixed(3)}–${figure.ratio.high.toFixed(3)}`,
    'A/A': figure.noise?.toFixed(3) ?? '',
    goal: goalText(figure.goal),
    verdict: verdict(figure),
  })),
);
submit(figures);
