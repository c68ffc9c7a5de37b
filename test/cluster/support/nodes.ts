import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../scripts/cluster/free-port.ts';

const program = fileURLToPath(new URL('./node-process.ts', import.meta.url));

/** One process of a group. */
export interface NodeProcess {
  url: string;
  port: number;
  process: ChildProcess;
  /** What its tool did. */
  readonly paid: number;
  /** What it complained of. */
  readonly complaints: string;
  /** Ends it: at once, or as an administrator does. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

/** Starts a node on a schema of PostgreSQL. */
export async function startNode(database: string, schema: string, leaseMs = 2000): Promise<NodeProcess> {
  const port = await freePort();
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', program, database, schema, String(port), String(leaseMs)],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let paid = 0;
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (said: string) => {
    complaints += said;
  });
  const exited = once(child, 'exit');
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'paid') paid++;
      if (line.startsWith('listening ')) resolve(line.slice('listening '.length));
    });
    child.once('exit', () => reject(new Error(`The node ended:\n${complaints}`)));
  });
  return {
    url,
    port,
    process: child,
    get paid() {
      return paid;
    },
    get complaints() {
      return complaints;
    },
    async end(signal) {
      child.kill('SIGCONT');
      child.kill(signal);
      await exited;
    },
  };
}
