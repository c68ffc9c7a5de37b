import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { folderOf } from './find-command.ts';
import { freePort } from './free-port.ts';

/** A PostgreSQL of its own, in a temporary folder. */
export interface PostgresServer {
  url: string;
  /** Stops it as an administrator would, or as a power cut does. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  /** Starts it again on its folder and its port. */
  start(): Promise<void>;
  /** Ends it, and removes its folder. */
  close(): Promise<void>;
}

/** How a PostgreSQL is unlike the usual one. */
export interface PostgresSettings {
  /** The password without which nobody is let in. */
  password?: string;
  /** How large a file may become, in kilobytes: a disk that is full for whatever is larger. */
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
    // The machine's own locale may be one that is not installed.
    '--locale=C',
    // Small files of its own, so that a limit is one of tables.
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
    ];
    const served = as('postgres', ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]);
    const [command, rest] = fileLimit === undefined ? served : limited(served, fileLimit);
    let said = '';
    const child = spawn(command, rest, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-4000);
      });
    }
    server = child;
    // Another server may have got the port meanwhile.
    while ((await folderServed(url)) !== data) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${said}`);
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

/** A command whose files may not become larger than so many kilobytes. */
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
    throw new Error('There is no PostgreSQL here: install it (Debian: apt-get install postgresql).');
  return found;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
