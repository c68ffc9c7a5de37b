import { isExecutable } from './find-browser.mjs';
import { run } from './run.mjs';

/** Whether packages can be installed without asking the user: on Debian, as root. */
export const canUseApt = () =>
  process.getuid?.() === 0 && isExecutable('/usr/bin/apt-get') && isExecutable('/usr/bin/dpkg-query');

/** Of these packages, those that are not installed. */
export async function missingPackages(wanted) {
  const { output } = await run('dpkg-query', ['-s', ...wanted], { timeoutMs: 30_000, env: { LC_ALL: 'C' } });
  const installed = [...output.matchAll(/^Package: (.*)\nStatus: .* installed$/gm)].map((match) => match[1]);
  return wanted.filter((name) => !installed.includes(name));
}

/** Installs packages. */
export async function aptInstall(packages) {
  const options = { env: { DEBIAN_FRONTEND: 'noninteractive' }, timeoutMs: 10 * 60_000 };
  const update = await run('apt-get', ['-qq', 'update'], options);
  const result = await run(
    'apt-get',
    ['-qq', '-y', '-o', 'DPkg::Lock::Timeout=300', 'install', '--no-install-recommends', ...packages],
    options,
  );
  return { code: result.code, output: update.output + result.output };
}
