import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { announced, npm, root } from './run.mjs';

const lockPath = resolve(root, 'package-lock.json');
const installedPath = resolve(root, 'node_modules/.package-lock.json');
const stampPath = resolve(root, 'node_modules/.duologue-stamp');

const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);
const hash = (text) => createHash('sha256').update(text).digest('hex');

/** Whether the package is meant for another operating system or processor than this one. */
function isForeign(entry) {
  const refuses = (list, mine) =>
    list !== undefined &&
    (list.includes(`!${mine}`) || !list.some((name) => name === mine || name.startsWith('!')));
  return refuses(entry.os, process.platform) || refuses(entry.cpu, process.arch);
}

/**
 * What node_modules lacks of the lockfile, by npm's own record of what it installed; so an install made by hand counts.
 * @returns {string | undefined} the reason to install, or undefined when everything is there
 */
export function missingFromInstall() {
  const lockText = read(lockPath);
  const installedText = read(installedPath);
  if (lockText === undefined) throw new Error('package-lock.json is missing: this is not a whole checkout.');
  if (installedText === undefined) return 'node_modules is missing';

  const lock = JSON.parse(lockText).packages;
  const direct = Object.keys({ ...lock[''].dependencies, ...lock[''].devDependencies });
  const gone = direct.find((name) => !existsSync(resolve(root, 'node_modules', name, 'package.json')));
  if (gone !== undefined) return `${gone} is missing`;
  if (read(stampPath) === hash(lockText)) return undefined;

  const installed = JSON.parse(installedText).packages;
  for (const [path, entry] of Object.entries(lock)) {
    if (!path.includes('node_modules/')) continue;
    const there = installed[path];
    // A package of this platform may still be absent for its libc; npm decided that when it installed.
    if (there === undefined && entry.optional && (isForeign(entry) || entry.libc !== undefined)) continue;
    if (there === undefined) return `${path.replace(/^.*node_modules\//, '')} is missing`;
    if (there.version !== entry.version || there.integrity !== entry.integrity) {
      return `${path.replace(/^.*node_modules\//, '')} is ${there.version}, the lockfile says ${entry.version}`;
    }
  }
  writeFileSync(stampPath, hash(lockText));
  return undefined;
}

/** Installs exactly what the lockfile says, when something of it is missing. */
export async function install() {
  const reason = missingFromInstall();
  if (reason === undefined) return { ok: true, note: 'up to date' };
  console.log(`installing packages (${reason}); this takes about half a minute`);
  const { result, seconds } = await announced('installing packages', () =>
    // Development packages are needed whatever NODE_ENV says; no package of ours needs its install script.
    npm(['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      timeoutMs: 15 * 60_000,
    }),
  );
  if (result.code !== 0) return { ok: false, note: 'npm ci failed', output: result.output };
  writeFileSync(stampPath, hash(readFileSync(lockPath, 'utf8')));
  return { ok: true, note: `installed in ${seconds} s` };
}
