#!/usr/bin/env node
// `npm run bench -- [engine|store|parse|browser …]`: runs the benchmarks, each against its floor and its peers, and installs what a part needs.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const PARTS = { engine: 'run.ts', store: 'sessions.ts', parse: 'bench.ts', browser: 'run.ts' };

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are: ${Object.keys(PARTS).join(', ')}.`);
  process.exit(2);
}

let failed = 0;
for (const [name, script] of Object.entries(PARTS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const folder = resolve(here, name);
  if (!existsSync(resolve(folder, script))) continue;
  console.log(`\n== ${name}`);
  if (existsSync(resolve(folder, 'package.json')) && !existsSync(resolve(folder, 'node_modules'))) {
    console.log('installing what it compares with ...');
    const installed = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' });
    if (installed.status !== 0) {
      failed += 1;
      continue;
    }
  }
  const tsx = resolve(here, '../node_modules/tsx/dist/cli.mjs');
  const run = spawnSync(process.execPath, [tsx, script], { cwd: folder, stdio: 'inherit' });
  if (run.status !== 0) failed += 1;
}
process.exit(failed === 0 ? 0 : 1);
