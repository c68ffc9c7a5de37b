#!/usr/bin/env node
// `npm run example -- <name> [script]`: installs what is missing, builds the library when it has changed, and starts an example of `examples/`
// with a script of its package.json: the named one, otherwise the first of `dev`, `start` and `test`.
import './lib/node-version.mjs';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from './lib/build.mjs';
import { install } from './lib/install.mjs';
import { alone } from './lib/lock.mjs';
import { announced, endWithNpm, npm, root } from './lib/run.mjs';

const [name, chosen] = process.argv.slice(2);

function give(problem, output = '') {
  console.error(`${output.trimEnd()}\n\nthe example cannot start: ${problem}`.trimStart());
  process.exit(1);
}

const isExample = (folder) => existsSync(resolve(root, 'examples', folder, 'package.json'));
const names = readdirSync(resolve(root, 'examples')).filter(isExample);
if (!names.includes(name)) {
  give(
    `${name === undefined ? 'name one' : `there is no "${name}"`}: npm run example -- ${names.join(' | ')}`,
  );
}
const folder = resolve(root, 'examples', name);
const { scripts } = JSON.parse(readFileSync(resolve(folder, 'package.json'), 'utf8'));
const script = chosen ?? ['dev', 'start', 'test'].find((one) => one in scripts);
if (!(script in scripts)) {
  give(`${name} has no script "${script}", only ${Object.keys(scripts).join(', ')}.`);
}

endWithNpm();

const installed = await alone(install);
if (!installed.ok) {
  give(
    `${installed.note}. Check that the package registry can be reached, then run it again.`,
    installed.output,
  );
}
const built = await alone(() =>
  build(async (part, work) => (await announced(`building the ${part}`, work)).result, ['library']),
);
if (!built.ok) give(`building the ${built.note}.`, built.output);

console.log(`starting examples/${name}`);
const { code } = await npm(['run', '--silent', script], { cwd: folder, show: true });
process.exitCode = code;
