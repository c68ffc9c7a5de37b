import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { makeAgent } from '../agent.ts';
import type { Start } from './start.ts';

type Server = typeof import('duologue/server');
type Sqlite = typeof import('duologue/server/sqlite');
type Node = typeof import('duologue/server/node');

/** The server of this repository, compiled, with its sessions in SQLite. It speaks over SSE and over a socket. */
export const start: Start = async ({ adk, source, build }) => {
  const load = (path: string): Promise<unknown> => import(pathToFileURL(join(build, path)).href);
  const { createDuologue } = (await load('server/index.js')) as Server;
  // An earlier commit that is measured beside this one may have the store in one file.
  const sqlite = ['server/sqlite/index.js', 'server/store/sqlite.js'].find((path) =>
    existsSync(join(build, path)),
  );
  const { openSqliteStore } = (await load(sqlite ?? '')) as Sqlite;
  // The same holds for the adapters, which were in another folder.
  const node = ['server/adapters/node.js', 'server/use/node.js'].find((path) =>
    existsSync(join(build, path)),
  );
  const { serve } = (await load(node ?? '')) as Node;
  const folder = mkdtempSync(join(tmpdir(), 'duologue-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const duologue = createDuologue({
    agent: makeAgent(adk, source),
    store: await openSqliteStore(folder),
    rateLimit: false,
    // The benchmark answers no approval requests.
    approvalTimeoutMs: null,
  });
  return serve(duologue, { port: 0, host: '127.0.0.1', quiet: true });
};
