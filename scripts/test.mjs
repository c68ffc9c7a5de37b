#!/usr/bin/env node
// `npm test`: installs what is missing, then runs every check. `npm test -- <arguments>` runs vitest alone with them, on the Node that it was started with.
// `npm run test:long`: the slow tests, and the other versions of Node.
// `npm run test:cluster`: the tests that need a real PostgreSQL and Redis.
// Without arguments all three continue on the main version of Node.
import './lib/node-version.mjs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { ensureBrowser, hasBrowserTests } from './lib/browser.mjs';
import { build } from './lib/build.mjs';
import { ensureEngines } from './lib/engines.mjs';
import { install } from './lib/install.mjs';
import { alone } from './lib/lock.mjs';
import { isOnMainNode, MAIN_NODE, nodeOf, OTHER_NODES, STARTED_WITH } from './lib/other-node.mjs';
import { countOf, failuresOf, slowestOf } from './lib/report.mjs';
import { announced, endWithNpm, root, run, tool } from './lib/run.mjs';

const minutes = 60_000;
const isLong = process.argv[2] === '--long';
const isCluster = process.argv[2] === '--cluster';
const chosen = process.argv.slice(isLong || isCluster ? 3 : 2);
const count = { passed: 0, failed: 0, skipped: 0 };
/** The failures, printed again at the end because a CI log may lose its beginning. */
const failures = [];

const print = (name, verdict, note) => console.log(`${name.padEnd(9)} ${verdict.padEnd(6)} ${note}`);

/** Runs one check, prints its verdict, and its output when it failed. */
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

/** An environment with the folder of that Node first in PATH, so that child processes that run `node` use it. */
const pathTo = (node) => ({ PATH: [dirname(node), process.env.PATH].join(delimiter) });

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
      { env: { ...env, ...pathTo(node) }, timeoutMs: 30 * minutes, show: true },
    );
    if (timedOut) console.log('tests: stopped, still running after 30 minutes');
    failures.push(...failuresOf(report));
    for (const [name, number] of Object.entries(countOf(report, code))) count[name] += number;
    console.log(['\nThe slowest tests:', ...slowestOf(report, 10)].join('\n'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The tests that depend on the version of the AI SDK, and those of the first steps on an older Node. `npm run test:long` runs all tests of the library
 * there, among them every place where a connection may drop.
 */
const COMPATIBILITY = [
  ...['client', 'react', 'demo/fixtures', 'repository/start', 'protocol/chunks', 'protocol/fold'],
  ...['contract', 'killed', 'progress', 'races'].map((name) => `contract/${name}`),
  ...['server/chat', 'server/resume', 'server/dialect'],
].map((path) => `test/${path}`);

/** Runs tests on another version of Node, with the AI SDK that npm installs there. */
async function leg({ version, sdk }, runs, { env }) {
  const other = await nodeOf(version);
  print(`Node ${version.split('.')[0]}`, other.ok ? 'ok' : 'FAILED', `${other.version} with ai ${sdk}`);
  if (!other.ok) {
    console.log(other.output);
    count.failed += 1;
    return;
  }
  for (const args of runs) await tests(args, { env: { ...env, DUOLOGUE_TEST_AI: sdk }, node: other.path });
}

/** Runs the slow tests, and the tests of our own code on the other versions of Node. */
async function longTests(options) {
  await tests(['--config=vitest.long.config.ts', ...chosen], options);
  if (chosen.length > 0) return;
  const runs = [
    ['--project=library', '--project=process', '--project=pages'],
    ['test/repository/start', 'test/repository/packaging'],
  ];
  for (const other of OTHER_NODES) await leg(other, runs, options);
}

/** Runs the same command on the main version of Node, and ends with its result. */
async function continueOnMainNode() {
  const main = await nodeOf(MAIN_NODE);
  if (!main.ok) {
    console.log(main.output);
    print('Node', 'FAILED', MAIN_NODE);
    count.failed += 1;
    finish();
  }
  print('Node', 'ok', `${main.version}; this is ${process.versions.node}`);
  const startedWith = `${process.versions.node} ${process.execPath}`;
  const { code } = await run(main.path, process.argv.slice(1), {
    env: { ...pathTo(main.path), [STARTED_WITH]: startedWith },
    timeoutMs: 120 * minutes,
    show: true,
  });
  process.exit(code);
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
if (chosen.length === 0 && !isOnMainNode()) await continueOnMainNode();

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
    await check('types 6', () =>
      tool('typescript/bin/tsc', ['-p', 'tsconfig.ai6.json'], { timeoutMs: 5 * minutes }),
    );
    await check('lint', () => tool('@biomejs/biome/bin/biome', ['check', '.'], { timeoutMs: 5 * minutes }));
    await check('unused', () => tool('knip/bin/knip.js', ['--no-progress'], { timeoutMs: 5 * minutes }));
    await check('build', () => alone(() => build()));
    const { env } = options;
    await tests([], { env: { ...env, DUOLOGUE_TEST_AI: '7' } });
    await leg(OTHER_NODES.at(-1), [COMPATIBILITY], options);
  } else {
    await tests(chosen, options);
  }
}
finish();
