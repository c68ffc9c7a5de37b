#!/usr/bin/env node
// `npm run outdated`: installs the newest version of each peer beside the packed package, on the main version of Node, and says what breaks.
import './lib/node-version.mjs';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { install } from './lib/install.mjs';
import { alone } from './lib/lock.mjs';
import { MAIN_NODE, nodeOf } from './lib/other-node.mjs';
import { endWithNpm, npm, root, run } from './lib/run.mjs';

const minutes = 60_000;
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
const { peerDependencies, devDependencies } = read(resolve(root, 'package.json'));
const tools = ['typescript', 'tsx', '@types/node', '@types/react', '@types/ws'];
const failures = [];

endWithNpm();

/** Prints the result of a step, with its output only when it failed. */
function tell(name, { code, output }) {
  console.log(`${name.padEnd(9)} ${code === 0 ? 'ok' : 'FAILED'}`);
  if (code === 0) return true;
  console.log(output.trimEnd());
  failures.push(name);
  return false;
}

/** The version that the registry has under `latest`, and the range in package.json. */
function report(folder) {
  const names = Object.keys(peerDependencies);
  const width = Math.max(...names.map((name) => name.length)) + 2;
  for (const name of names) {
    const { version } = read(join(folder, 'node_modules', name, 'package.json'));
    const tested = devDependencies[name];
    console.log(
      `  ${name.padEnd(width)}${version.padEnd(12)}${version === tested ? 'as tested' : `tested: ${tested}`}`,
    );
  }
}

const installed = await alone(install);
if (!installed.ok) {
  console.error(`${installed.output}\n${installed.note}`);
  process.exit(1);
}
const node = await nodeOf(MAIN_NODE);
if (!node.ok) {
  console.error(node.output);
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), 'duologue-outdated-'));
try {
  const env = { PATH: [dirname(node.path), process.env.PATH].join(delimiter) };
  const options = { cwd: folder, env, timeoutMs: 10 * minutes };
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const packed = await npm(['pack', root, '--pack-destination', folder, '--loglevel=error'], options);
  if (tell('pack', packed)) {
    const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
    const wanted = [
      `./${tarball}`,
      ...Object.keys(peerDependencies).map((name) => `${name}@latest`),
      ...tools.map((name) => `${name}@${devDependencies[name]}`),
    ];
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const whole = tell('install', await npm(['install', ...flags, ...wanted], options));
    // A version outside of the range is installed too, because it may work.
    const forced = whole
      ? true
      : tell('by force', await npm(['install', '--legacy-peer-deps', ...flags, ...wanted], options));
    if (forced) {
      report(folder);
      copyFileSync(resolve(root, 'scripts/outdated/smoke.ts'), join(folder, 'smoke.ts'));
      const module = (path) => join(folder, 'node_modules', path);
      const compiler = [
        ...['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'],
        ...['--types', 'node', 'smoke.ts'],
      ];
      tell('types', await run(node.path, [module('typescript/bin/tsc'), ...compiler], options));
      tell(
        'turns',
        await run(node.path, ['--import', 'tsx', 'smoke.ts'], { ...options, timeoutMs: minutes }),
      );
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(
  failures.length === 0
    ? '\nThe newest versions of all peers work.'
    : `\nThis breaks with the newest versions: ${failures.join(', ')}.`,
);
process.exit(failures.length === 0 ? 0 : 1);
