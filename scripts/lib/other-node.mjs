import { fromRegistry } from './other-runtime.mjs';

/** The other versions of Node that we test with, the newest of each line that was out when this was written. */
export const otherNodes = ['22.23.3', '24.21.0'];

/** Brings a version of Node, as the registry has it for this system, and gives the path of its binary. */
export function otherNode(version) {
  const system = process.platform === 'win32' ? 'win' : process.platform;
  return fromRegistry({
    folder: `node-${version}`,
    name: `node-${system}-${process.arch}`,
    version,
    file: system === 'win' ? 'bin/node.exe' : 'bin/node',
  });
}
