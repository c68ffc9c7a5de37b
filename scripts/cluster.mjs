#!/usr/bin/env node
// `npm run cluster`: three nodes of the demo on this machine, on one PostgreSQL and one Redis, behind a small balancer.
import './lib/node-version.mjs';
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { build } from './lib/build.mjs';
import { ensureEngines } from './lib/engines.mjs';
import { install } from './lib/install.mjs';
import { alone } from './lib/lock.mjs';
import { announced, endWithNpm, root } from './lib/run.mjs';

function give(problem, output = '') {
  console.error(`${output.trimEnd()}\n\nthe nodes cannot start: ${problem}`.trimStart());
  process.exit(1);
}

endWithNpm();

const installed = await alone(install);
if (!installed.ok) give(`${installed.note}.`, installed.output);
const built = await alone(() =>
  build(async (name, work) => (await announced(`building the ${name}`, work)).result),
);
if (!built.ok) give(`building the ${built.note}.`, built.output);
const engines = await ensureEngines('run');
if (!engines.ok) {
  give(
    `${engines.note}. Install what is missing, or set DATABASE_URL and REDIS_URL to the addresses of running ones.`,
    engines.output,
  );
}

const child = spawn(process.execPath, ['--import', 'tsx', resolve(root, 'scripts/cluster/run.ts')], {
  cwd: root,
  stdio: 'inherit',
});
// The child gets the same signals from the terminal and ends the nodes itself.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => process.exit(code ?? 1));
