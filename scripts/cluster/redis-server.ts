import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { folderOf } from './find-command.ts';
import { freePort } from './free-port.ts';

/** A temporary Redis without persistence. */
export interface RedisServer {
  url: string;
  /** Kills the server; its data is lost. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port. */
  start(): Promise<void>;
  /** Freezes the process until `thaw`: its connections stay open, and it answers nothing. */
  freeze(): void;
  thaw(): void;
  /** Stops the server and removes its folder. */
  close(): Promise<void>;
}

const COMMANDS = ['redis-server', 'valkey-server'];

/** Starts a Redis, or a Valkey where there is no Redis; `settings` are lines of its configuration, such as `maxmemory 2mb`. */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  const command = COMMANDS.find((name) => folderOf([name]) !== undefined);
  if (!command)
    throw new Error(
      'Redis was not found on this machine: install it (Debian: apt-get install redis-server).',
    );
  const folder = mkdtempSync(join(tmpdir(), 'duologue-redis-'));
  const port = await freePort();
  const lines = [`port ${port}`, 'bind 127.0.0.1', 'appendonly no', `dir ${folder}`, ...settings];
  const args = [...lines.flatMap(asArgument), '--save', ''];
  let server: ChildProcess | null = null;

  async function start(): Promise<void> {
    let texts = '';
    const child = spawn(command ?? '', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        texts = (texts + text).slice(-4000);
      });
    }
    server = child;
    // Another server may have taken the port in the meantime: its answer does not count.
    while (!/Ready to accept connections/.test(texts) || !(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`Redis did not start:\n${texts}`);
      await sleep(20);
    }
  }
  async function kill(): Promise<void> {
    if (!server) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
    server = null;
  }

  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    kill,
    freeze: () => server?.kill('SIGSTOP'),
    thaw: () => server?.kill('SIGCONT'),
    async close() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A line of the configuration as arguments of the command. */
function asArgument(line: string): string[] {
  const [name = '', ...values] = line.split(' ');
  return [`--${name}`, ...values.map((value) => (value === '""' ? '' : value))];
}

/** Whether a server answers at this address, with or without a password. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(1000, () => socket.destroy());
    socket.once('data', () => {
      resolve(true);
      socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(false));
  });
}
