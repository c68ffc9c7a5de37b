import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { npm, root } from './run.mjs';

/** The other runtimes that we test with: the packages of their binaries, as the registry has them for each system. */
const runtimes = {
  bun: {
    version: '1.4.4',
    packages: {
      'linux-x64': '@oven/bun-linux-x64',
      'linux-arm64': '@oven/bun-linux-aarch64',
      'darwin-x64': '@oven/bun-darwin-x64',
      'darwin-arm64': '@oven/bun-darwin-aarch64',
      'win32-x64': '@oven/bun-windows-x64',
      'win32-arm64': '@oven/bun-windows-aarch64',
    },
    binary: 'bin/bun',
  },
  deno: {
    version: '2.9.6',
    packages: {
      'linux-x64': '@deno/linux-x64-glibc',
      'linux-arm64': '@deno/linux-arm64-glibc',
      'darwin-x64': '@deno/darwin-x64',
      'darwin-arm64': '@deno/darwin-arm64',
      'win32-x64': '@deno/win32-x64',
      'win32-arm64': '@deno/win32-arm64',
    },
    binary: 'deno',
  },
};

/**
 * Downloads one package of the registry into the cache and returns the path of a file in it. No script of the package runs.
 * @returns {Promise<{ ok: true, path: string } | { ok: false, output: string }>}
 */
export async function fromRegistry({ folder, name, version, file }) {
  const home = resolve(root, '.cache', folder);
  const path = resolve(home, 'node_modules', name, file);
  if (existsSync(path)) return { ok: true, path };
  const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { output } = await npm(
    ['install', '--prefix', home, ...options, '--loglevel=error', `${name}@${version}`],
    { timeoutMs: 10 * 60_000 },
  );
  return existsSync(path) ? { ok: true, path } : { ok: false, output };
}

/**
 * Downloads Bun or Deno and returns the path of its binary.
 * @public The tests import it at run time.
 */
export async function otherRuntime(name) {
  const { version, packages, binary } = runtimes[name];
  const system = `${process.platform}-${process.arch}`;
  if (packages[system] === undefined) return { ok: false, output: `${name} has no binary for ${system}.` };
  const file = process.platform === 'win32' ? `${binary}.exe` : binary;
  return fromRegistry({ folder: `${name}-${version}`, name: packages[system], version, file });
}
