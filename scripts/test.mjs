#!/usr/bin/env node
// `npm test`: installs what is missing, then runs every check. `npm test -- <arguments>` runs vitest alone with them.
import './lib/node-version.mjs';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBrowser, hasBrowserTests } from './lib/browser.mjs';
import { build } from './lib/build.mjs';
import { install } from './lib/install.mjs';
import { alone } from './lib/lock.mjs';
import { announced, endWithNpm, tool } from './lib/run.mjs';

const minutes = 60_000;
const chosen = process.argv.slice(2);
const count = { passed: 0, failed: 0, skipped: 0 };

const print = (name, verdict, note) => console.log(`${name.padEnd(9)} ${verdict.padEnd(6)} ${note}`);

/** Runs one check, prints its verdict, and what it said when it failed. */
async function check(name, work) {
  const { result, seconds } = await announced(name, work);
  const ok = result.ok ?? result.code === 0;
  if (!ok && result.output) console.log(result.output.trimEnd());
  print(name, ok ? 'ok' : 'FAILED', [`${seconds} s`, result.note].filter(Boolean).join(', '));
  count[ok ? 'passed' : 'failed'] += 1;
  return result;
}

/** Ends with the one line that says it all. */
function finish() {
  const skipped = count.skipped === 0 ? '' : `, ${count.skipped} skipped`;
  console.log(`\n${count.passed} passed, ${count.failed} failed${skipped}`);
  process.exit(count.failed === 0 ? 0 : 1);
}

/** Adds up vitest's own report; a file that could not be loaded, or a crash outside any test, is one failure. */
function addReport(path, code) {
  let report;
  try {
    report = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    count.failed += 1;
    return;
  }
  const unloaded = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
  const failed = report.numFailedTests + unloaded;
  count.passed += report.numPassedTests;
  count.failed += failed === 0 && code !== 0 ? 1 : failed;
  count.skipped += report.numPendingTests + report.numTodoTests;
}

async function tests(env) {
  const folder = mkdtempSync(join(tmpdir(), 'duologue-test-'));
  const report = join(folder, 'report.json');
  try {
    const { code, timedOut } = await tool(
      'vitest/vitest.mjs',
      ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...chosen],
      { env, timeoutMs: 30 * minutes, show: true },
    );
    if (timedOut) console.log('tests: stopped, still running after 30 minutes');
    addReport(report, code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
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

const browser = await ensureBrowser();
if (browser.path === undefined) {
  console.log(browser.output);
  print('browser', hasBrowserTests() ? 'FAILED' : 'absent', browser.note);
  if (hasBrowserTests()) count.failed += 1;
} else {
  print('browser', 'ok', browser.note);
}

if (chosen.length === 0) {
  await check('types', () => tool('typescript/bin/tsc', ['-p', 'tsconfig.json'], { timeoutMs: 5 * minutes }));
  await check('lint', () => tool('@biomejs/biome/bin/biome', ['check', '.'], { timeoutMs: 5 * minutes }));
  await check('unused', () => tool('knip/bin/knip.js', ['--no-progress'], { timeoutMs: 5 * minutes }));
  await check('build', () => alone(() => build()));
}
await tests(browser.path === undefined ? {} : { CHROME_PATH: browser.path });
finish();
