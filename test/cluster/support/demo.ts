import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../scripts/cluster/free-port.ts';

/** How a start of the demo ended. */
export interface Started {
  code: number | null;
  /** All output lines. */
  lines: string[];
}

/** Starts the demo's server with these variables, as `npm start` does, and waits until it exits or listens; a listening server is then stopped. */
export async function startDemo(env: Record<string, string>): Promise<Started> {
  const data = mkdtempSync(join(tmpdir(), 'duologue-demo-'));
  const child = spawn(process.execPath, ['--import', 'tsx', 'demo/server/main.ts'], {
    env: { ...process.env, DUOLOGUE_DATA: data, PORT: String(await freePort()), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let texts = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      texts += text;
      if (texts.includes('Duologue listens')) child.kill('SIGTERM');
    });
  }
  // Waits for `close`, so that all output has been read.
  const [code] = (await once(child, 'close')) as [number | null];
  rmSync(data, { recursive: true, force: true });
  return { code, lines: texts.split('\n').filter((line) => line !== '') };
}
