import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { root } from '../../browser/support/built.ts';
import type { Framework } from './framework-contract.ts';

/** A framework in a process of its own, which says `listening on <port>`. */
export async function openProcess(
  command: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): ReturnType<Framework['open']> {
  const child = spawn(command, args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const url = `http://127.0.0.1:${await portOf(child)}`;
  return {
    url,
    async close() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** The port that the process says; fails with what it said when it ends first. */
async function portOf(child: ChildProcess): Promise<string> {
  const said: string[] = [];
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error('The process has no output.');
  stderr.on('data', (text) => said.push(String(text)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}: ${said.join('')}`)));
    createInterface({ input: stdout }).on('line', (line) => {
      said.push(`${line}\n`);
      const [, port] = /^listening on (\d+)$/.exec(line) ?? [];
      if (port !== undefined) resolve(port);
    });
  });
}
