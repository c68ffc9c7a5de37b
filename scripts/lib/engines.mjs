import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { aptInstall, canUseApt, missingPackages } from './apt.mjs';
import { isExecutable } from './find-browser.mjs';
import { announced } from './run.mjs';

const debian = '/usr/lib/postgresql';

/** What has to be there, and the package of Debian that brings it. */
const engines = [
  {
    name: 'PostgreSQL',
    package: 'postgresql',
    isThere: () => {
      const versions = existsSync(debian)
        ? readdirSync(debian).map((version) => join(debian, version, 'bin'))
        : [];
      return [...(process.env.PATH ?? '').split(delimiter), ...versions].some(
        (folder) => isExecutable(join(folder, 'initdb')) && isExecutable(join(folder, 'postgres')),
      );
    },
  },
];

/** Finds the engines that several nodes need, and installs them where that needs no question (Debian, as root). */
export async function ensureEngines() {
  const missing = () => engines.filter(({ isThere }) => !isThere());
  if (missing().length > 0 && canUseApt()) {
    const wanted = await missingPackages(missing().map((engine) => engine.package));
    console.log(`installing ${wanted.join(', ')} with apt-get`);
    const { result } = await announced('installing the engines', () => aptInstall(wanted));
    if (missing().length > 0) return { ok: false, note: 'apt-get did not bring them', output: result.output };
  }
  const names = engines.map(({ name }) => name).join(', ');
  if (missing().length === 0) return { ok: true, note: names };
  const lacking = missing()
    .map(({ name }) => name)
    .join(' and ');
  const packages = missing()
    .map((engine) => engine.package)
    .join(' ');
  return {
    ok: false,
    note: `${lacking} not found`,
    output: [
      `These tests need ${lacking}, installed but not started: they start their own.`,
      `  Debian, Ubuntu (as root):  apt-get update && apt-get install -y ${packages}`,
      '  macOS:                     brew install postgresql',
      '  elsewhere:                 the commands initdb and postgres on the PATH',
    ].join('\n'),
  };
}
