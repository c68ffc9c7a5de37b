#!/usr/bin/env node
// `npm run hooks` turns the git hooks of this checkout on; with --offer, as after `npm install`, it only says that they exist.
// The offer is the script `dependencies`: npm runs it in this checkout only. Of a `prepare` npm warns every user who installs the packed library.
import { spawnSync } from 'node:child_process';

const FOLDER = 'scripts/hooks';

const git = (...args) => spawnSync('git', args, { encoding: 'utf8' });

const current = git('config', '--get', 'core.hooksPath').stdout?.trim() ?? '';
if (process.argv.includes('--offer')) {
  // No offer in continuous integration or outside of a git checkout: nothing is committed there.
  const mayCommit = !process.env.CI && git('rev-parse', '--is-inside-work-tree').status === 0;
  if (mayCommit && current !== FOLDER)
    console.error('npm run hooks turns on a git hook that checks the subject of each commit.');
} else {
  const { status, stderr } = git('config', 'core.hooksPath', FOLDER);
  if (status !== 0) {
    console.error(`The git hooks were not turned on: ${stderr?.trim() || 'git cannot be started'}.`);
    process.exit(1);
  }
  console.log(`Git checks the subject of each commit now (core.hooksPath is ${FOLDER}).`);
}
