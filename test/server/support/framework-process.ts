import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../../browser/support/built.ts';
import type { Framework } from './framework-contract.ts';

/** The server must not inherit environment variables of the test runner. */
const surroundings = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(NODE_OPTIONS|VITEST|TEST$)/.test(name)),
);

/** A framework in a process of its own, which says `listening on <port>`. */
export async function openProcess(command: string, args: string[]): ReturnType<Framework['open']> {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...surroundings, NODE_ENV: 'development', NEXT_TELEMETRY_DISABLED: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const url = `http://127.0.0.1:${await portOf(child)}`;
  return {
    url,
    async close() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The port that the process says; fails with what it said when it ends first. */
async function portOf(child: ChildProcess): Promise<string> {
  const texts: string[] = [];
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error('The process has no output.');
  stderr.on('data', (text) => texts.push(String(text)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}: ${texts.join('')}`)));
    createInterface({ input: stdout }).on('line', (line) => {
      texts.push(`${line}\n`);
      const [, port] = /^listening on (\d+)$/.exec(line) ?? [];
      if (port !== undefined) resolve(port);
    });
  });
}

/** Next.js in a process of its own: a custom server, or its route handlers alone. */
export async function openNext(kind: 'custom' | 'route'): ReturnType<typeof openProcess> {
  const program = resolve(root, 'test/server/support/next-server.ts');
  const opened = await openProcess(process.execPath, ['--import', 'tsx', program, kind]);
  // Next.js compiles a page when it is first asked for, here the page for unknown paths. A client would retry in the meantime.
  await (await fetch(`${opened.url}/elsewhere`)).text();
  return opened;
}
