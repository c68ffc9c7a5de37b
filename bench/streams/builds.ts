import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
// Inside the repository, so that imports resolve to its packages; not inside `bench`, which has its own node_modules.
const cache = join(root, '.cache', 'bench');
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');

/** Compiles the server as it is in the working tree, and returns the folder. */
export function buildHere(): string {
  return compile(root, join(cache, 'here'));
}

/** Compiles the server as it was at a commit, with the packages that are installed now. */
export function buildAt(commit: string): string {
  const folder = join(cache, commit);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync(
    'git',
    ['archive', commit, 'src', 'tsconfig.json', 'tsconfig.build.json', 'package.json'],
    {
      cwd: root,
      maxBuffer: 1 << 28,
    },
  );
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  return compile(folder, join(folder, 'dist'));
}

/** The full hash of a commit. */
export function commitOf(name: string): string {
  return execFileSync('git', ['rev-parse', '--verify', `${name}^{commit}`], {
    cwd: root,
    encoding: 'utf8',
  }).trim();
}

function compile(from: string, to: string): string {
  rmSync(to, { recursive: true, force: true });
  const options = [
    '--outDir',
    to,
    '--incremental',
    'false',
    '--declaration',
    'false',
    '--tsBuildInfoFile',
    'null',
  ];
  execFileSync(process.execPath, [tsc, '-p', join(from, 'tsconfig.build.json'), ...options], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return to;
}
