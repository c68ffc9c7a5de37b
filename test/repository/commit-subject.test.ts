import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { root } from './support/repository.ts';

describe('the git hook', () => {
  let folder: string;

  /** Runs a command in the checkout of the test, without settings of the machine. */
  function run(command: string, ...args: string[]) {
    const env = {
      ...process.env,
      CI: '',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example.com',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example.com',
    };
    return spawnSync(command, args, { cwd: folder, encoding: 'utf8', env });
  }
  const commit = (...args: string[]) => run('git', 'commit', '--allow-empty', ...args);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'duologue-hooks-'));
    mkdirSync(join(folder, 'scripts'));
    for (const name of ['hooks', 'hooks.mjs', 'commit-subject.mjs'])
      cpSync(join(root, 'scripts', name), join(folder, 'scripts', name), { recursive: true });
    run('git', 'init', '--quiet');
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('is offered by npm install, once it is turned on no longer, and never in continuous integration', () => {
    const offer = () => run('node', 'scripts/hooks.mjs', '--offer').stderr;
    expect(offer()).toContain('npm run hooks');
    expect(run('env', 'CI=1', 'node', 'scripts/hooks.mjs', '--offer').stderr).toBe('');
    expect(run('node', 'scripts/hooks.mjs').status).toBe(0);
    expect(offer()).toBe('');
  });

  test('accepts a subject with an area, and refuses one without or one that is too long', () => {
    expect(commit('-m', 'Any subject before the hook is on').status).toBe(0);
    run('node', 'scripts/hooks.mjs');
    expect(commit('-m', 'server: keep idle sockets for 75 s', '-m', 'B'.repeat(100)).status).toBe(0);
    expect(commit('-m', 'server, adk: keep idle sockets').status).toBe(0);
    expect(commit('--fixup', 'HEAD').status).toBe(0);
    const refused = (subject: string) => {
      const { status, stderr } = commit('-m', subject);
      return [status === 0, stderr.trim()];
    };
    expect(refused('Keep idle sockets for 75 s')).toEqual([
      false,
      'The subject "Keep idle sockets for 75 s" has no area: write "area: what changed", such as "server: keep idle sockets for 75 s".',
    ]);
    expect(refused(`server: ${'x'.repeat(65)}`)).toEqual([
      false,
      'The subject has 73 characters, and may have 72: move the reason into the body.',
    ]);
  });
});
