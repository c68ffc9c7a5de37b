#!/usr/bin/env node
// `npm start`: installs what is missing, builds what has changed, and serves the demo. Arguments go to the demo server.
import './lib/node-version.mjs';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './lib/build.mjs';
import { install } from './lib/install.mjs';
import { alone } from './lib/lock.mjs';
import { announced, endWithNpm, root } from './lib/run.mjs';

function give(problem, output = '') {
  console.error(`${output.trimEnd()}\n\nduologue cannot start: ${problem}`.trimStart());
  process.exit(1);
}

if (!existsSync(resolve(root, 'demo/server/main.ts'))) {
  give('demo/server/main.ts is missing: this is not a whole checkout. Clone the repository again.');
}

endWithNpm();

const installed = await alone(install);
if (!installed.ok)
  give(
    `${installed.note}. Check that the package registry can be reached, then run npm start again.`,
    installed.output,
  );

const built = await alone(() =>
  build(async (name, work) => (await announced(`building the ${name}`, work)).result),
);
if (!built.ok) give(`building the ${built.note}.`, built.output);

// In this very process: signals reach the server itself, and its exit code is ours.
const server = resolve(root, 'demo/dist/server/main.js');
process.argv[1] = server;
process.setSourceMapsEnabled(true);
await import(pathToFileURL(server).href);
