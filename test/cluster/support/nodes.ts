import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../scripts/cluster/free-port.ts';

const program = fileURLToPath(new URL('./node-process.ts', import.meta.url));

/** The settings of a node. */
export interface NodeSettings {
  database: string;
  schema: string;
  /** The Redis that keeps replicated logs; null for none. */
  redis: string | null;
  leaseMs: number;
  /** How long a node waits for running answers after SIGTERM. */
  drainMs: number;
  port: number;
  /** How far its clock is ahead of the machine's. */
  aheadMs: number;
  /** The approval timeout; null for none. */
  approvalTimeoutMs: number | null;
  /** The environment of a live model that replaces the node's own model; null for none. */
  liveModel: Record<string, string> | null;
  /** How long its tool takes. */
  payMs: number;
  /** How long a read or write is retried while the database is unavailable. */
  retryForMs: number;
}

/** One process of a group. */
export interface NodeProcess {
  url: string;
  port: number;
  process: ChildProcess;
  /** The calls that its tool carried out. */
  readonly paid: readonly string[];
  /** Its standard error output. */
  readonly complaints: string;
  /** Ends the process: at once, or in order as an administrator does. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

/** Starts a node on a schema of PostgreSQL. */
export async function startNode(
  settings: Pick<NodeSettings, 'database' | 'schema'> & Partial<NodeSettings>,
): Promise<NodeProcess> {
  const whole: NodeSettings = {
    // On a busy machine a node may get no CPU time for seconds, and answers stream slowly.
    leaseMs: 10_000,
    drainMs: 60_000,
    redis: null,
    port: await freePort(),
    aheadMs: 0,
    approvalTimeoutMs: null,
    liveModel: null,
    payMs: 50,
    retryForMs: 30_000,
    ...settings,
  };
  const child = spawn(process.execPath, ['--import', 'tsx', program, JSON.stringify(whole)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const paid: string[] = [];
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (texts: string) => {
    complaints += texts;
  });
  const exited = once(child, 'exit');
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('paid ')) paid.push(line.slice('paid '.length));
      if (line.startsWith('listening ')) resolve(line.slice('listening '.length));
    });
    child.once('close', () => reject(new Error(`The node ended:\n${complaints}`)));
  });
  return {
    url,
    port: whole.port,
    process: child,
    paid,
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
