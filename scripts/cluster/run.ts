import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startBalancer } from './balancer.ts';
import { freePort } from './free-port.ts';
import { startPostgres } from './postgres-server.ts';
import { startRedis } from './redis-server.ts';

const root = resolve(fileURLToPath(new URL('../..', import.meta.url)));
const COUNT = 3;
/** The keys that freeze or resume a node, in the order of the nodes. */
const FREEZERS = ['a', 'b', 'c'];

/** One process of the demo; null while it is dead. */
interface DemoNode {
  name: string;
  port: number;
  process: ChildProcess | null;
  isFrozen: boolean;
}

const { DATABASE_URL: givenPostgres, REDIS_URL: givenRedis } = process.env;
const postgres = givenPostgres ? null : await startPostgres();
const redis = givenRedis ? null : await startRedis();
const engines = {
  DATABASE_URL: postgres?.url ?? givenPostgres,
  REDIS_URL: redis?.url ?? givenRedis,
};
async function closeEngines(): Promise<void> {
  await postgres?.close();
  await redis?.close();
}

async function start(node: DemoNode): Promise<void> {
  const child = spawn(process.execPath, [resolve(root, 'demo/dist/server/main.js')], {
    cwd: root,
    env: { ...process.env, ...engines, HOST: '127.0.0.1', PORT: String(node.port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  node.process = child;
  child.once('exit', () => {
    if (node.process === child) node.process = null;
  });
  const isListening = new Promise<void>((done) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        if (line.startsWith('Duologue listens')) done();
        else if (!/^(Model|Another model|Data): /.test(line)) console.log(`${node.name}: ${line}`);
      });
    }
  });
  await Promise.race([isListening, once(child, 'exit')]);
  console.log(node.process ? `${node.name}: listens on port ${node.port}` : `${node.name}: did not start`);
}

async function end(node: DemoNode, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const child = node.process;
  if (!child) return;
  const exited = once(child, 'exit');
  child.kill('SIGCONT');
  node.isFrozen = false;
  child.kill(signal);
  await exited;
  console.log(`${node.name}: ${signal === 'SIGKILL' ? 'killed' : 'ended'}`);
}

const nodes: DemoNode[] = [];
for (let index = 1; index <= COUNT; index++) {
  nodes.push({ name: `node ${index}`, port: await freePort(), process: null, isFrozen: false });
}
// One after the other, so that their outputs do not mix.
for (const node of nodes) await start(node);
const living = () => nodes.filter((node) => node.process !== null).map(({ port }) => port);
if (living().length === 0) {
  await closeEngines();
  process.exit(1);
}
const balancer = await startBalancer(living, Number(process.env.PORT ?? 3000));

console.log(`\nOpen ${balancer.url}: every request and every connection goes to the next node.`);
console.log(
  `Keys: 1 to ${COUNT} kills a node, or starts it again; ${FREEZERS.join(', ')} freezes one, or wakes it; r ends and starts all in order, one after the other; q ends.`,
);
console.log(
  givenPostgres
    ? 'The conversations are in DATABASE_URL.'
    : 'PostgreSQL is a temporary one: the conversations end with it.',
);

let isEnding = false;
async function quit(): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  await Promise.all(nodes.map((node) => end(node, 'SIGTERM')));
  await balancer.close();
  await closeEngines();
  process.exit(0);
}

async function press(key: string): Promise<void> {
  const node = nodes[Number(key) - 1];
  if (node) return node.process ? end(node, 'SIGKILL') : start(node);
  if (key === 'q' || key === '\u0003') return quit();
  const frozen = nodes[FREEZERS.indexOf(key)];
  if (frozen?.process) {
    frozen.isFrozen = !frozen.isFrozen;
    frozen.process.kill(frozen.isFrozen ? 'SIGSTOP' : 'SIGCONT');
    console.log(`${frozen.name}: ${frozen.isFrozen ? 'frozen' : 'awake'}`);
  }
  if (key === 'r') {
    for (const one of nodes) {
      await end(one, 'SIGTERM');
      await start(one);
    }
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    quit().catch((error: unknown) => console.error(error));
  });
}
if (process.stdin.isTTY) process.stdin.setRawMode(true);
process.stdin.setEncoding('utf8').on('data', (keys: string) => {
  for (const key of keys) press(key).catch((error: unknown) => console.error(error));
});
