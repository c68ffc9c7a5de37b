import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { folderOf } from './find-command.ts';
import { freePort } from './free-port.ts';

/** A temporary PgBouncer in front of a PostgreSQL. */
export interface PgBouncerServer {
  /** The address of the same database through the pooler. */
  url: string;
  /** Stops the process and removes its folder. */
  close(): Promise<void>;
}

/** Starts a PgBouncer in front of a database; `settings` are lines of its configuration, such as `pool_mode = transaction`. */
export async function startPgBouncer(
  database: string,
  settings: readonly string[],
): Promise<PgBouncerServer> {
  const target = new URL(database);
  const folder = mkdtempSync(join(tmpdir(), 'duologue-pgbouncer-'));
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `postgres = host=${target.hostname} port=${target.port} user=${target.username}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    ...settings,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  // PgBouncer refuses to run as root, so the user it runs as must be able to read its configuration.
  chmodSync(folder, 0o755);
  const isRoot = process.getuid?.() === 0;
  const args = isRoot ? ['-u', 'postgres', file] : [file];
  const child = spawn(findPgBouncer(), args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
  let texts = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      texts = (texts + text).slice(-4000);
    });
  }
  while (!/process up/.test(texts)) {
    if (child.exitCode !== null) throw new Error(`PgBouncer did not start:\n${texts}`);
    await sleep(20);
  }
  return {
    url: `postgres://${target.username}@127.0.0.1:${port}/postgres`,
    async close() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The version of the PgBouncer that is installed, as `[1, 24]`. */
export function pgBouncerVersion(): [number, number] {
  const texts = execFileSync(findPgBouncer(), ['--version'], { encoding: 'utf8' });
  const [, major, minor] = /(\d+)\.(\d+)/.exec(texts) ?? [];
  return [Number(major), Number(minor)];
}

function findPgBouncer(): string {
  const folder = folderOf(['pgbouncer'], ['/usr/sbin']);
  if (folder === undefined)
    throw new Error(
      'PgBouncer was not found on this machine: install it (Debian: apt-get install pgbouncer).',
    );
  return join(folder, 'pgbouncer');
}
