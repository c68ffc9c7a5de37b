import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from './postgres-server.ts';

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

/** Sends each connection to another node, in turn; one that nobody takes goes to the next. */
export async function startBalancer(
  nodes: () => NodeProcess[],
): Promise<{ url: string; close(): Promise<void> }> {
  const open = new Set<Socket>();
  let turn = 0;
  const server = createServer((client) => {
    open.add(client);
    client.on('error', () => undefined);
    client.on('close', () => open.delete(client));
    const attempt = (left: number): void => {
      const all = nodes();
      const node = all[turn++ % all.length];
      if (!node || left === 0) {
        client.destroy();
        return;
      }
      const upstream = connect(node.port, '127.0.0.1');
      let isJoined = false;
      upstream.once('connect', () => {
        isJoined = true;
        client.pipe(upstream).pipe(client);
        client.on('close', () => upstream.destroy());
      });
      upstream.on('error', () => {
        if (!isJoined) attempt(left - 1);
      });
      upstream.on('close', () => {
        if (isJoined) client.destroy();
      });
    };
    attempt(nodes().length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const one of open) one.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
