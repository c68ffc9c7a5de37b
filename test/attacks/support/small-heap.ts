import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const script = fileURLToPath(new URL('brief-server.ts', import.meta.url));

/** A server in a process of its own. */
export interface SmallServer {
  url: string;
  isAlive(): boolean;
  /** The largest heap, the CPU time, and the longest delay of the event loop since the previous call. */
  measure(): Promise<{ heapMb: number; cpuMs: number; heldMs: number }>;
}

/**
 * Starts a server whose heap has so many megabytes, in a process of its own that ends with the test. `prepare` may fill its data folder, or
 * return the address of a PostgreSQL database and a schema that the server uses instead.
 */
export async function startSmall({
  heapMb,
  prepare,
}: {
  heapMb: number;
  prepare?: (folder: string) => Promise<{ url: string; schema: string } | undefined>;
}): Promise<SmallServer> {
  const folder = mkdtempSync(join(tmpdir(), 'duologue-heap-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const database = await prepare?.(folder);
  const place = database ? [database.url, database.schema] : [folder];
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${heapMb}`, '--import', 'tsx', script, ...place],
    { stdio: ['ignore', 'pipe', 'ignore', 'ipc'] },
  );
  onTestFinished(async () => {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
    child.kill('SIGKILL');
    await exited;
  });
  const [line] = await once(child.stdout ?? child, 'data');
  return {
    url: String(line).trim(),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    async measure() {
      child.send('measure');
      const [figures] = await once(child, 'message');
      return figures as { heapMb: number; cpuMs: number; heldMs: number };
    },
  };
}
