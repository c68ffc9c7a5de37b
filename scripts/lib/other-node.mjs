import { existsSync } from 'node:fs';
import { fromRegistry } from './other-runtime.mjs';

/** The version of Node that the tests run on first. */
export const MAIN_NODE = '24.21.0';

/** The other versions, the newest of each line that was out when this was written, and the major version of the AI SDK that npm installs on them. */
export const OTHER_NODES = [
  { version: '22.23.3', sdk: '7' },
  { version: '20.20.2', sdk: '6' },
];

/** Names the Node that the command was started with, for the process that continues it on the main version. */
export const STARTED_WITH = 'DUOLOGUE_TEST_STARTED_WITH';

const majorOf = (version) => version.split('.')[0];

/** Whether this process runs on the main version. */
export const isOnMainNode = () => majorOf(process.versions.node) === majorOf(MAIN_NODE);

/** Returns the path of a version of Node: the Node of the command when its major version matches, else the build from the npm registry. */
export async function nodeOf(version) {
  const [startedWith = '', path = ''] = (process.env[STARTED_WITH] ?? '').split(' ', 2);
  if (majorOf(startedWith) === majorOf(version) && existsSync(path))
    return { ok: true, path, version: startedWith };
  if (majorOf(process.versions.node) === majorOf(version))
    return { ok: true, path: process.execPath, version: process.versions.node };
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const brought = await fromRegistry({
    folder: `node-${version}`,
    name: `node-${system}-${process.arch}`,
    version,
    file: system === 'win' ? 'bin/node.exe' : 'bin/node',
  });
  return { version, ...brought };
}
