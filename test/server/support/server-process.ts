import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const script = fileURLToPath(new URL('./killed-server.ts', import.meta.url));

/** A server in a process of its own. */
export interface Running {
  url: string;
  /** What it wrote. */
  lines: string[];
  /** Resolves when it wrote that line. */
  wrote(line: string): Promise<void>;
  kill(): Promise<void>;
}

/** Starts a server in a process of its own; it stops at the place given. `program`: the program of the process. */
export async function start(folder: string, place = '', program = script): Promise<Running> {
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', program, folder, place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const waiting = new Map<string, () => void>();
  let rest = '';
  child.stdout?.on('data', (piece: Buffer) => {
    const parts = (rest + String(piece)).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) {
      lines.push(line);
      for (const [start, resolve] of waiting) if (line.startsWith(start)) resolve();
    }
  });
  const wrote = (line: string) =>
    new Promise<void>((resolve, reject) => {
      if (lines.some((seen) => seen.startsWith(line))) resolve();
      waiting.set(line, resolve);
      child.once('exit', () => reject(new Error(`The server ended before it wrote "${line}".`)));
    });
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  onTestFinished(kill);
  await wrote('listening');
  return { url: lines.find((line) => line.startsWith('listening'))?.split(' ')[1] ?? '', lines, wrote, kill };
}

/** A folder for the store of a server, which goes with the test. */
export function folderOfItsOwn(): string {
  const folder = mkdtempSync(join(tmpdir(), 'duologue-kill-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
