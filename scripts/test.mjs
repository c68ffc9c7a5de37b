#!/usr/bin/env node
// `npm test`: installs what is missing, then runs every check. `npm test -- <arguments>` runs vitest alone with them.
// `npm run test:long`: what takes long by its nature, and the other versions of Node.
// `npm run test:cluster`: what needs the engines of several nodes, real ones.
import './lib/node-version.mjs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ensureBrowser, hasBrowserTests } from './lib/browser.mjs';
import { build } from './lib/build.mjs';
import { ensureEngines } from './lib/engines.mjs';
import { install } from './lib/install.mjs';
import { alone } from './lib/lock.mjs';
import { otherNode, otherNodes } from './lib/other-node.mjs';
import { countOf, failuresOf, slowestOf } from './lib/report.mjs';
import { announced, endWithNpm, root, run, tool } from './lib/run.mjs';

const minutes = 60_000;
const isLong = process.argv[2] === '--long';
const isCluster = process.argv[2] === '--cluster';
const chosen = process.argv.slice(isLong || isCluster ? 3 : 2);
const count = { passed: 0, failed: 0, skipped: 0 };
/** What failed, told once more at the end: a log may be kept without its beginning. */
const failures = [];

const print = (name, verdict, note) => console.log(`${name.padEnd(9)} ${verdict.padEnd(6)} ${note}`);

/** Runs one check, prints its verdict, and what it said when it failed. */
async function check(name, work) {
  const { result, seconds } = await announced(name, work);
  const ok = result.ok ?? result.code === 0;
  if (!ok && result.output) console.log(result.output.trimEnd());
  print(name, ok ? 'ok' : 'FAILED', [`${seconds} s`, result.note].filter(Boolean).join(', '));
  count[ok ? 'passed' : 'failed'] += 1;
  if (!ok) failures.push(`  ${name}`);
  return result;
}

/** Ends with what failed and the one line that says it all. */
function finish() {
  if (failures.length > 0) console.log(['\nFailed:', ...failures].join('\n'));
  const skipped = count.skipped === 0 ? '' : `, ${count.skipped} skipped`;
  console.log(`\n${count.passed} passed, ${count.failed} failed${skipped}`);
  process.exit(count.failed === 0 ? 0 : 1);
}

/** Runs vitest, on this Node or another one, counts its tests and names the slowest. */
async function tests(args, { env, node = process.execPath }) {
  const folder = mkdtempSync(join(tmpdir(), 'duologue-test-'));
  const report = join(folder, 'report.json');
  try {
    const { code, timedOut } = await run(
      node,
      [
        resolve(root, 'node_modules/vitest/vitest.mjs'),
        'run',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${report}`,
        ...args,
      ],
      { env, timeoutMs: 30 * minutes, show: true },
    );
    if (timedOut) console.log('tests: stopped, still running after 30 minutes');
    failures.push(...failuresOf(report));
    for (const [name, number] of Object.entries(countOf(report, code))) count[name] += number;
    console.log(['\nThe slowest tests:', ...slowestOf(report, 10)].join('\n'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs what takes long by its nature, and the tests of our own code on the other versions of Node. */
async function longTests(options) {
  await tests(['--config=vitest.long.config.ts', ...chosen], options);
  if (chosen.length > 0) return;
  for (const version of otherNodes) {
    const other = await otherNode(version);
    print(`Node ${version.split('.')[0]}`, other.ok ? 'ok' : 'FAILED', version);
    if (other.ok) {
      await tests(['--project=library', '--project=process', '--project=pages'], {
        ...options,
        node: other.path,
      });
      continue;
    }
    console.log(other.output);
    count.failed += 1;
  }
}

endWithNpm();

const installed = await alone(install);
if (!installed.ok) {
  console.log(installed.output);
  print('install', 'FAILED', installed.note);
  count.failed += 1;
  finish();
}
print('install', 'ok', installed.note);

if (isCluster) {
  const engines = await ensureEngines('test');
  print('engines', engines.ok ? 'ok' : 'FAILED', engines.note);
  if (engines.ok) {
    await tests(['--config=vitest.cluster.config.ts', ...chosen], {});
  } else {
    console.log(engines.output);
    count.failed += 1;
  }
  finish();
}

const browser = await ensureBrowser();
if (browser.path === undefined) {
  console.log(browser.output);
  print('browser', hasBrowserTests() ? 'FAILED' : 'absent', browser.note);
  if (hasBrowserTests()) count.failed += 1;
} else {
  print('browser', 'ok', browser.note);
}

const options = { env: browser.path === undefined ? {} : { CHROME_PATH: browser.path } };
if (isLong) {
  await check('build', () => alone(() => build()));
  await longTests(options);
} else {
  if (chosen.length === 0) {
    await check('types', () =>
      tool('typescript/bin/tsc', ['-p', 'tsconfig.json'], { timeoutMs: 5 * minutes }),
    );
    await check('lint', () => tool('@biomejs/biome/bin/biome', ['check', '.'], { timeoutMs: 5 * minutes }));
    await check('unused', () => tool('knip/bin/knip.js', ['--no-progress'], { timeoutMs: 5 * minutes }));
    await check('build', () => alone(() => build()));
  }
  await tests(chosen, options);
}
finish();
