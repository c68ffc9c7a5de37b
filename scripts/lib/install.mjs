import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { missingFromInstall, stampInstall } from './installed.mjs';
import { announced, npm, root } from './run.mjs';

// Installs development packages even with NODE_ENV=production. No dependency needs its install script.
const options = ['--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/** Installs the packages of the lockfile when one is missing or has another version. */
export async function install() {
  const reason = missingFromInstall(root);
  if (reason === undefined) return { ok: true, note: 'up to date' };
  console.log(`installing packages (${reason}); this takes up to a minute`);
  const { result, seconds } = await announced('installing packages', async () => {
    const limit = { timeoutMs: 15 * 60_000 };
    // First adds only the missing packages. When that is not enough, `npm ci` installs everything again.
    if (existsSync(resolve(root, 'node_modules/.package-lock.json'))) {
      const added = await npm(['install', '--no-save', ...options], limit);
      if (added.code === 0 && missingFromInstall(root) === undefined) return added;
    }
    return npm(['ci', ...options], limit);
  });
  if (result.code !== 0) return { ok: false, note: 'npm ci failed', output: result.output };
  stampInstall(root);
  return { ok: true, note: `installed in ${seconds} s` };
}
