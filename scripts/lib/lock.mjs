import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { root } from './run.mjs';

/** The age from which an empty lock file counts as stale: its process died before it wrote its pid. */
const namelessMs = 10_000;

/** Whether the process that holds the lock is gone. */
function isStale(file) {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    if (pid === 0) return Date.now() - statSync(file).mtimeMs > namelessMs;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/** Removes the lock of a process that has ended. */
function clear(file) {
  const asideMessage = `${file}.${process.pid}`;
  try {
    renameSync(file, asideMessage);
    // Another waiting process may have replaced the stale lock, and then the renamed file is its lock.
    if (isStale(asideMessage)) rmSync(asideMessage);
    else renameSync(asideMessage, file);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

/**
 * Runs work that changes the checkout (installing, building) under a lock file: two commands
 * at once wait for each other. A lock whose process died is taken over.
 */
export async function alone(
  work,
  { file = resolve(root, '.cache/lock'), waitMs = 20 * 60_000, everyMs = 200 } = {},
) {
  mkdirSync(dirname(file), { recursive: true });
  const until = Date.now() + waitMs;
  for (let tries = 0; !take(file); tries += 1) {
    if (isStale(file)) clear(file);
    if (Date.now() > until)
      throw new Error(
        `${file} is held by another command in this folder. If no other command runs, remove the file.`,
      );
    if (tries * everyMs === 1_000) console.log('waiting for another command in this folder ...');
    await new Promise((done) => setTimeout(done, everyMs));
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}
