import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { npm, root } from './run.mjs';

/** The other versions of Node that we test with, the newest of each line that was out when this was written. */
export const otherNodes = ['22.23.3', '24.21.0'];

/** Brings a version of Node, as the registry has it for this system, and gives the path of its binary. */
export async function otherNode(version) {
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${system}-${process.arch}`;
  const folder = resolve(root, `.cache/node-${version}`);
  const path = resolve(folder, 'node_modules', name, system === 'win' ? 'bin/node.exe' : 'bin/node');
  if (existsSync(path)) return { ok: true, path };
  const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { output } = await npm(
    ['install', '--prefix', folder, ...options, '--loglevel=error', `${name}@${version}`],
    { timeoutMs: 10 * 60_000 },
  );
  return existsSync(path) ? { ok: true, path } : { ok: false, output };
}
