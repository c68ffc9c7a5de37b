import { spawnSync } from 'node:child_process';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';

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
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Ratios within a repetition, pooled; and the range of the trials' medians. */
function ratios(kind: string, variant: string): { median: number; from: number; to: number } {
  const perTrial = (measured.get(kind) ?? []).map((run) =>
    (run[variant] ?? []).map((value, rep) => value / (((run.adk?.[rep] ?? 0) + (run.again?.[rep] ?? 0)) / 2)),
  );
  const medians = perTrial.map(median);
  return { median: median(perTrial.flat()), from: Math.min(...medians), to: Math.max(...medians) };
}

function pairNoise(kind: string): number {
  const pooled = (measured.get(kind) ?? []).flatMap((run) =>
    (run.again ?? []).map((value, rep) => value / (run.adk?.[rep] ?? 0)),
  );
  return median(pooled);
}

const rows = goals.map(({ kind, variant, says, limit }) => {
  const ratio = ratios(kind, variant);
  const noise = pairNoise(kind);
  const valid = noise > 0.9 && noise < 1.1;
  return {
    says,
    ratio: Number(ratio.median.toFixed(3)),
    trials: `${ratio.from.toFixed(3)}–${ratio.to.toFixed(3)}`,
    'A/A': Number(noise.toFixed(3)),
    goal: limit === null ? '' : `<= ${limit}`,
    result: limit === null ? '' : !valid ? 'invalid: too noisy' : ratio.median <= limit ? 'met' : 'missed',
  };
});
console.table(rows);
console.log(JSON.stringify({ node: process.version, load: loadavg(), trials, rows }));
