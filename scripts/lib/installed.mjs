import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);
const stampOf = (lockText) => createHash('sha256').update(lockText).digest('hex');

/** Whether npm surely installs an optional package here: its `os` and `cpu` fields match this machine; the libc is not checked. */
function isForHere({ os, cpu, libc }) {
  return os?.includes(process.platform) && cpu?.includes(process.arch) && libc === undefined;
}

/** Records in node_modules that its packages match the lockfile. */
export function stampInstall(root) {
  const lockText = readFileSync(resolve(root, 'package-lock.json'), 'utf8');
  writeFileSync(resolve(root, 'node_modules/.duologue-stamp'), stampOf(lockText));
}

/**
 * Compares the lockfile with npm's own record of the installed packages, so a manual `npm install` counts too.
 * @returns {string | undefined} the reason to install, or undefined when everything is there
 */
export function missingFromInstall(root) {
  const lockText = read(resolve(root, 'package-lock.json'));
  const installedText = read(resolve(root, 'node_modules/.package-lock.json'));
  if (lockText === undefined) throw new Error('package-lock.json is missing: this is not a whole checkout.');
  if (installedText === undefined) return 'node_modules is missing';

  const lock = JSON.parse(lockText).packages;
  const direct = Object.keys({ ...lock[''].dependencies, ...lock[''].devDependencies });
  const gone = direct.find((name) => !existsSync(resolve(root, 'node_modules', name, 'package.json')));
  if (gone !== undefined) return `${gone} is missing`;
  if (read(resolve(root, 'node_modules/.duologue-stamp')) === stampOf(lockText)) return undefined;

  const installed = JSON.parse(installedText).packages;
  for (const [path, entry] of Object.entries(lock)) {
    if (!path.includes('node_modules/')) continue;
    const there = installed[path];
    // Optional packages for other platforms are not installed, nor are their dependencies.
    if (there === undefined && entry.optional && !isForHere(entry)) continue;
    if (there === undefined) return `${path.replace(/^.*node_modules\//, '')} is missing`;
    if (there.version !== entry.version || there.integrity !== entry.integrity) {
      return `${path.replace(/^.*node_modules\//, '')} is ${there.version}, the lockfile says ${entry.version}`;
    }
  }
  stampInstall(root);
  return undefined;
}
