import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { folderOf } from './find-command.ts';
import { freePort } from './free-port.ts';

/** A temporary PostgreSQL, with its data in a temporary folder. */
export interface PostgresServer {
  url: string;
  /** Stops the server: `fast` as an administrator would, `immediate` as a power cut does. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  /** Starts the server again on the same folder and port. */
  start(): Promise<void>;
  /** Stops the server and removes its folder. */
  close(): Promise<void>;
}

/** Options of a temporary PostgreSQL. */
export interface PostgresSettings {
  /** The password that clients must give; without one the server trusts every local client. */
  password?: string;
  /** The largest size of a file in kilobytes. A larger write fails as on a full disk. */
  fileLimit?: number;
}

/** Starts a PostgreSQL; as root it runs as the user `postgres`, because it refuses to run as root. */
export async function startPostgres({ password, fileLimit }: PostgresSettings = {}): Promise<PostgresServer> {
  const bin = findPostgres();
  const isRoot = process.getuid?.() === 0;
  const folder = mkdtempSync(join(tmpdir(), 'duologue-postgres-'));
  const data = join(folder, 'data');
  const port = await freePort();
  const as = (command: string, args: string[]): [string, string[]] =>
    isRoot ? ['runuser', ['-u', 'postgres', '--', join(bin, command), ...args]] : [join(bin, command), args];
  if (isRoot) {
    const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
    chownSync(folder, idOf('-u'), idOf('-g'));
    chmodSync(folder, 0o700);
  }
  const secret = join(folder, 'password');
  if (password) writeFileSync(secret, password, { mode: 0o644 });
  const [initdb, args] = as('initdb', [
    ...['-D', data, '-U', 'postgres', '-E', 'UTF8', '--no-sync'],
    // The locale of the environment may not be installed.
    '--locale=C',
    // Small WAL files, so that `fileLimit` affects only tables.
    '--wal-segsize=1',
    ...(password ? ['-A', 'scram-sha-256', `--pwfile=${secret}`] : ['-A', 'trust']),
  ]);
  execFileSync(initdb, args, { cwd: '/', stdio: 'pipe' });
  const url = `postgres://postgres${password ? `:${password}` : ''}@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | null = null;

  async function start(): Promise<void> {
    const settings = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${folder}`,
      'fsync=off',
      // Test files that run side by side share a server, and each opens up to ten connections for a node.
      'max_connections=400',
    ];
    const served = as('postgres', ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]);
    const [command, rest] = fileLimit === undefined ? served : limited(served, fileLimit);
    let texts = '';
    const child = spawn(command, rest, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        texts = (texts + text).slice(-4000);
      });
    }
    server = child;
    // Checks the folder, because another server may have taken the port in the meantime.
    while ((await folderServed(url)) !== data) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${texts}`);
      await sleep(20);
    }
  }
  async function stop(mode: 'fast' | 'immediate'): Promise<void> {
    if (!server) return;
    const exited = once(server, 'exit');
    const [command, rest] = as('pg_ctl', ['-D', data, '-m', mode, '-w', 'stop']);
    execFileSync(command, rest, { cwd: '/', stdio: 'pipe' });
    await exited;
    server = null;
  }

  await start();
  return {
    url,
    start,
    stop,
    async close() {
      await stop('immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Wraps a command so that its files cannot grow beyond `fileLimit` kilobytes. */
function limited([command, args]: [string, string[]], kilobytes: number): [string, string[]] {
  return ['sh', ['-c', `ulimit -f ${kilobytes * 2} && exec "$0" "$@"`, command, ...args]];
}

/** The folder of the server that answers there; null when none does. */
async function folderServed(url: string): Promise<string | null> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    return rows[0]?.data_directory ?? null;
  } catch {
    return null;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The folder of PostgreSQL's commands: on the path, or where Debian puts them, the newest first. */
function findPostgres(): string {
  const debian = '/usr/lib/postgresql';
  const versions = namesIn(debian).sort((a, b) => Number(b) - Number(a));
  const found = folderOf(
    ['initdb', 'postgres', 'pg_ctl'],
    versions.map((version) => join(debian, version, 'bin')),
  );
  if (!found)
    throw new Error(
      'PostgreSQL was not found on this machine: install it (Debian: apt-get install postgresql).',
    );
  return found;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
