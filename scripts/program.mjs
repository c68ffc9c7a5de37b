#!/usr/bin/env node
// `node scripts/program.mjs [--browser] [--engines] <file.ts> [arguments]`: runs a program of this repository from a fresh clone.
// It installs what is missing first, the browser and the engines of several nodes too when the program needs them.
import './lib/node-version.mjs';
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { ensureBrowser } from './lib/browser.mjs';
import { ensureEngines } from './lib/engines.mjs';
import { install } from './lib/install.mjs';
import { alone } from './lib/lock.mjs';
import { endWithNpm, root } from './lib/run.mjs';

const all = process.argv.slice(2);
const at = all.findIndex((argument) => !['--browser', '--engines'].includes(argument));
const needs = all.slice(0, at);
const [file, ...args] = all.slice(at);

endWithNpm();

const installed = await alone(install);
if (!installed.ok) {
  console.error(`${installed.output}\n${installed.note}`);
  process.exit(1);
}
const env = { ...process.env };
if (needs.includes('--browser')) {
  const browser = await ensureBrowser();
  // Not fatal: a program may have parts that need no browser, and reports by itself which parts failed.
  if (browser.path === undefined) console.error(browser.output);
  else env.CHROME_PATH = browser.path;
}
if (needs.includes('--engines')) {
  const engines = await ensureEngines('test');
  if (!engines.ok) {
    console.error(`${engines.output}\n${engines.note}`);
    process.exit(1);
  }
}

const child = spawn(process.execPath, ['--import', 'tsx', resolve(root, file), ...args], {
  stdio: 'inherit',
  env,
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => process.exit(code ?? 1));
