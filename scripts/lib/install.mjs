import { missingFromInstall, stampInstall } from './installed.mjs';
import { announced, npm, root } from './run.mjs';

/** Installs exactly what the lockfile says, when something of it is missing. */
export async function install() {
  const reason = missingFromInstall(root);
  if (reason === undefined) return { ok: true, note: 'up to date' };
  console.log(`installing packages (${reason}); this takes about half a minute`);
  const { result, seconds } = await announced('installing packages', () =>
    // Development packages are needed whatever NODE_ENV says; no package of ours needs its install script.
    npm(['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      timeoutMs: 15 * 60_000,
    }),
  );
  if (result.code !== 0) return { ok: false, note: 'npm ci failed', output: result.output };
  stampInstall(root);
  return { ok: true, note: `installed in ${seconds} s` };
}
