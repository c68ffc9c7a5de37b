/**
 * All benchmarks, each against its lower bounds and comparable libraries, in one report.
 *
 *   npm run bench [-- streams engine store parse browser page voice hearing attack sound nodes] [-- --against <commit>]
 *   npm run bench:quick
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Figure, submitted } from './report/figure.ts';
import { writeReport } from './report/write.ts';

const here = dirname(fileURLToPath(import.meta.url));
const PARTS: Record<string, string> = {
  streams: 'streams/run.ts',
  engine: 'engine/run.ts',
  store: 'store/sessions.ts',
  parse: 'parse/bench.ts',
  browser: 'browser/run.ts',
  page: 'page/run.ts',
  voice: 'voice/run.ts',
  hearing: 'voice/hearing.ts',
  attack: 'attack/run.ts',
  sound: 'sound/run.ts',
  nodes: 'nodes/run.ts',
};
/** Run when they are named: the rest takes twenty minutes, voice and hearing fetch their models, and nodes need PostgreSQL and Redis. */
const BY_NAME = ['voice', 'hearing', 'sound', 'nodes'];

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    only: { type: 'string' },
    pace: { type: 'string' },
    trials: { type: 'string' },
    repetitions: { type: 'string' },
  },
});
/** The options of each part that takes any. */
const TAKEN: Partial<Record<string, readonly (keyof typeof options)[]>> = {
  streams: ['quick', 'against', 'only', 'pace', 'trials', 'repetitions'],
  browser: ['against', 'repetitions'],
  sound: ['against', 'repetitions'],
  attack: ['quick'],
  hearing: ['quick'],
};

const unknown = positionals.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are: ${Object.keys(PARTS).join(', ')}.`);
  process.exit(2);
}
const usual = Object.keys(PARTS).filter((name) => !BY_NAME.includes(name));
const wanted = positionals.length > 0 ? positionals : options.quick ? ['streams'] : usual;

if (!options.quick && !existsSync(join(here, 'node_modules'))) {
  console.log('installing the compared libraries ...');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}

const work = mkdtempSync(join(tmpdir(), 'duologue-bench-'));
const parts: Record<string, { figures: Figure[]; detail: unknown; seconds: number }> = {};
const failed: string[] = [];
const load = loadavg();
try {
  for (const name of wanted) runPart(name);
} finally {
  rmSync(work, { recursive: true, force: true });
}
const folder = join(here, 'results');
mkdirSync(folder, { recursive: true });
const files = writeReport(folder, {
  date: new Date().toISOString(),
  commit: git('rev-parse', 'HEAD'),
  isClean: git('status', '--porcelain') === '',
  node: process.version,
  processor: cpus()[0]?.model ?? '',
  cores: cpus().length,
  load: { before: load, after: loadavg() },
  failed,
  parts,
});
console.log(`\nWritten: ${files.join(', ')}`);
process.exit(failed.length === 0 ? 0 : 1);

function runPart(name: string): void {
  console.log(`\n== ${name}`);
  const figures = join(work, `${name}.json`);
  const own = ownOptions(name);
  const began = performance.now();
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', join(here, PARTS[name] ?? ''), ...own], {
    stdio: 'inherit',
    env: { ...process.env, BENCH_FIGURES: figures },
  });
  const found = submitted(figures);
  if (status !== 0 || !found) failed.push(name);
  if (found) parts[name] = { ...found, seconds: Math.round((performance.now() - began) / 1000) };
}

/** The options of this run that a part takes. */
function ownOptions(part: string): string[] {
  return (TAKEN[part] ?? []).flatMap((name) => {
    const value = options[name];
    if (value === undefined || value === false) return [];
    return value === true ? [`--${name}`] : [`--${name}`, value];
  });
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: here, encoding: 'utf8' }).trim();
}
