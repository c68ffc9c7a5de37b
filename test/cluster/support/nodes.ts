import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../scripts/cluster/free-port.ts';

const program = fileURLToPath(new URL('./node-process.ts', import.meta.url));

/** What a node is started with. */
export interface NodeSettings {
  database: string;
  schema: string;
  /** Where logs outlive their owner; null for nowhere. */
  redis: string | null;
  leaseMs: number;
  /** How long it waits for answers when it is told to end. */
  drainMs: number;
  port: number;
  /** How far its clock is ahead of the machine's. */
  aheadMs: number;
  /** How long a card waits; null is for ever. */
  approvalTimeoutMs: number | null;
  /** What leads to a live model, which it then has in place of its own; null for none. */
  liveModel: Record<string, string> | null;
  /** How long its tool takes. */
  payMs: number;
  /** How long a read or a write goes on trying while the database is away. */
  retryForMs: number;
}

/** One process of a group. */
export interface NodeProcess {
  url: string;
  port: number;
  process: ChildProcess;
  /** The calls that its tool did. */
  readonly paid: readonly string[];
  /** What it complained of. */
  readonly complaints: string;
  /** Ends it: at once, or as an administrator does. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

/** Starts a node on a schema of PostgreSQL. */
export async function startNode(
  settings: Pick<NodeSettings, 'database' | 'schema'> & Partial<NodeSettings>,
): Promise<NodeProcess> {
  const whole: NodeSettings = {
    // On a busy machine a node may have nothing of it for seconds, and words come slowly.
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
  child.stderr.setEncoding('utf8').on('data', (said: string) => {
    complaints += said;
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
