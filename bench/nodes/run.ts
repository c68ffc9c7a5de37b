/**
 * What several nodes cost compared with one, and how long users wait when a node ends: the goals of docs/several-nodes.md.
 *
 *   npm run bench -- nodes
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { freePort } from '../../scripts/cluster/free-port.ts';
import { startPostgres } from '../../scripts/cluster/postgres-server.ts';
import { startRedis } from '../../scripts/cluster/redis-server.ts';
import { SoakCluster } from '../../scripts/cluster/soak/cluster.ts';
import { Page, sleep } from '../../scripts/cluster/soak/page.ts';
import { openPostgresStore } from '../../src/server/postgres/index.ts';
import { post } from '../../test/cluster/support/group.ts';
import { answerBody, approve } from '../../test/server/support/answers.ts';
import { say } from '../../test/support/harness.ts';
import { type Figure, goalText, submit, verdict } from '../report/figure.ts';
import { median, quantile, spread } from '../report/stats.ts';
import { printTable } from '../report/table.ts';
import { buildHere } from '../streams/builds.ts';
import type { ServerSettings } from './server.ts';

const build = buildHere();
const SESSIONS = 100;
const EVERY_MS = 50;
const WORDS = 100;
const ROUNDS = 3;
/** Warm-up approvals, which are not measured. */
const WARM = 20;
const APPROVALS = 100;
const KILLS = 8;
const LEASE_MS = 5000;

interface Used {
  cpuUs: number;
  asked: Record<string, number>;
}

/** A measured server process. */
class Server {
  readonly url: string;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(engines: Pick<ServerSettings, 'database' | 'redis'>): Promise<Server> {
    const settings: ServerSettings = { build, port: await freePort(), ...engines };
    const child = fork(fileURLToPath(new URL('server.ts', import.meta.url)), [JSON.stringify(settings)], {
      execArgv: ['--import', 'tsx'],
      env: { ...process.env, ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS: 'false' },
    });
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return new Server(child, port);
  }

  async ask(word: 'begin' | 'end'): Promise<Used> {
    this.#child.send(word);
    const [used] = (await once(this.#child, 'message')) as [Used];
    return used;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}

/** Streams answers of sessions that `owner` owns to sockets at the node `at`; returns the CPU time per word, summed over all servers. */
async function speak(owner: Server, at: Server, servers: readonly Server[]): Promise<number> {
  const ids = Array.from({ length: SESSIONS }, () => `s-${randomUUID()}`);
  await Promise.all(ids.map((id) => post(owner.url, say('say 1 every 0', id))));
  const sockets = await Promise.all(ids.map((id) => connect(at, id)));
  for (const server of servers) await server.ask('begin');
  await Promise.all(
    sockets.map((socket) => {
      const done = ended(socket);
      const parts = [{ type: 'text', text: `say ${WORDS} every ${EVERY_MS}` }];
      socket.send(
        JSON.stringify({
          type: 'message',
          version: '1.0',
          data: { messages: [{ id: randomUUID(), role: 'user', parts }] },
        }),
      );
      return done;
    }),
  );
  const used = await Promise.all(servers.map((server) => server.ask('end')));
  for (const socket of sockets) socket.terminate();
  return used.reduce((sum, { cpuUs }) => sum + cpuUs, 0) / (SESSIONS * WORDS);
}

async function connect(at: Server, id: string): Promise<WebSocket> {
  const socket = new WebSocket(`${at.url.replace('http', 'ws')}/live?session=${id}`, ['duologue.v2']);
  await once(socket, 'message');
  return socket;
}

/** Resolves when an answer is complete; rejects when a word is missing. */
function ended(socket: WebSocket): Promise<void> {
  let words = 0;
  return new Promise((resolve, reject) => {
    socket.on('message', (data: Buffer) => {
      const text = data.toString('latin1');
      words += text.split('said at its time').length - 1;
      if (!text.includes('[DONE]')) return;
      if (words === WORDS) resolve();
      else reject(new Error(`${words} of ${WORDS} words arrived.`));
    });
  });
}

const postgres = await startPostgres();
const redis = await startRedis();
await openPostgresStore({ url: postgres.url, schema: 'bench' }).then((store) => store.close());
const engines = { database: postgres.url, redis: redis.url };
const one = await Server.start({ database: null, redis: null });
const [owner, other] = [await Server.start(engines), await Server.start(engines)];

/** The setups, which are measured alternately. */
const ways = {
  one: () => speak(one, one, [one]),
  owner: () => speak(owner, owner, [owner]),
  reader: () => speak(owner, other, [owner, other]),
  again: () => speak(one, one, [one]),
};
type Way = keyof typeof ways;
const names = Object.keys(ways) as Way[];
const costs: Record<Way, number[]> = { one: [], owner: [], reader: [], again: [] };
console.log('Words ...');
for (const name of names) await ways[name]();
for (let round = 0; round < ROUNDS; round++) {
  for (let index = 0; index < names.length; index++) {
    const name = names[(index + round) % names.length] ?? 'one';
    costs[name].push(await ways[name]());
  }
  console.log(
    `CPU of a word, µs: ${names.map((name) => `${name} ${costs[name].at(-1)?.toFixed(0)}`).join(', ')}`,
  );
}

/** Time from an approval to the end of the turn, when it is sent to the owner and to another node. */
const times = { owner: [] as number[], other: [] as number[] };
for (let index = 0; index < APPROVALS * 2; index++) {
  const id = `s-${randomUUID()}`;
  const asked = await post(owner.url, say('pay', id));
  const name = index % 2 === 0 ? 'owner' : 'other';
  const began = performance.now();
  await post((name === 'owner' ? owner : other).url, answerBody(asked, [approve()], id));
  if (index >= WARM) times[name].push(performance.now() - began);
}

console.log(
  `An approval, ms: ${median(times.owner).toFixed(1)} at the owner, ${median(times.other).toFixed(1)} at another node`,
);

/** The database statements of a turn of ten seconds. */
const id = `s-${randomUUID()}`;
await post(owner.url, say('say 1 every 0', id));
await owner.ask('begin');
await post(owner.url, say('say 200 every 50', id, 'long'));
const { asked } = await owner.ask('end');
const ofNodes = ['renew', 'living'];
const statements = Object.entries(asked).filter(([name]) => !ofNodes.some((one) => name.includes(one)));
const transactions = statements.reduce((sum, [, count]) => sum + count, 0);
console.log('Statements of a turn of ten seconds:', Object.fromEntries(statements));
for (const server of [one, owner, other]) await server.stop();
await redis.close();
await postgres.close();

/** How long a page waits when the owner of its session is killed in the middle of an answer, or gets SIGTERM while an approval is pending. */
const cluster = await SoakCluster.open(LEASE_MS);
const complain = (what: string) => console.log(`PROBLEM: ${what}`);
async function waits(text: string, isReady: (page: Page) => boolean, signal: 'SIGKILL' | 'SIGTERM') {
  const found: number[] = [];
  for (let round = 0; round < KILLS; round++) {
    // Nodes wait for the whole lease of an owner they never connected to. The pause lets the replaced node connect to the others first.
    await sleep(LEASE_MS / 2);
    const page = await new Page(() => cluster.url, complain).open();
    page.say(text);
    await page.until(() => isReady(page), 'the beginning');
    const owner = await cluster.ownerOf(page.id);
    if (!owner) throw new Error('No node owns the session.');
    const { greetings } = page;
    const began = performance.now();
    const replaced = cluster.replace(owner, signal);
    await page.until(() => page.greetings > greetings, 'the new owner');
    found.push(performance.now() - began);
    console.log(`${signal} ${round + 1} of ${KILLS}: ${Math.round(found.at(-1) ?? 0)} ms`);
    page.close();
    await replaced;
  }
  return found;
}
const takeOvers = await waits('count 500', (page) => page.text.length > 40, 'SIGKILL');
const handOvers = await waits('pay', (page) => page.card !== null, 'SIGTERM');
await cluster.close();

const against = (name: Way) => spread(costs[name].map((cost, round) => cost / (costs.one[round] ?? 1)));
const noise = median(costs.again.map((cost, round) => cost / (costs.one[round] ?? 1)));
const all = (value: number) => ({ median: value, low: value, high: value });
const p90 = (values: number[], unit: number) => ({
  median: quantile(values, 0.9) / unit,
  low: Math.min(...values) / unit,
  high: Math.max(...values) / unit,
});
const figures: Figure[] = [
  {
    name: 'CPU of a word, client at the owner / one node with SQLite',
    ratio: against('owner'),
    goal: { atMost: 1.35 },
    noise,
  },
  {
    name: 'CPU of a word, owner and reader / one node with SQLite',
    ratio: against('reader'),
    goal: { atMost: 2.25 },
    noise,
  },
  {
    name: 'an approval through another node / at the owner, p50',
    ratio: all(median(times.other) / median(times.owner)),
    goal: { atMost: 2.5 },
  },
  { name: 'statements of a turn of ten seconds', ratio: all(transactions), goal: { atMost: 5 } },
  {
    name: 'owner killed: first sign of the new one / lease, p90',
    ratio: p90(takeOvers, LEASE_MS),
    goal: { atMost: 0.4 },
  },
  {
    name: 'owner killed: first sign of the new one / lease, the longest',
    ratio: all(Math.max(...takeOvers) / LEASE_MS),
    goal: { atMost: 1.1 },
  },
  {
    name: 'hand-over of a waiting session, seconds, p90',
    ratio: p90(handOvers, 1000),
    goal: { atMost: 0.5 },
  },
];
printTable(
  figures.map((figure) => ({
    figure: figure.name,
    value: figure.ratio.median.toFixed(2),
    range: `${figure.ratio.low.toFixed(2)} to ${figure.ratio.high.toFixed(2)}`,
    goal: goalText(figure.goal),
    verdict: verdict(figure),
  })),
);
console.log(`A/A ${noise.toFixed(2)}`);
submit(figures, { costs, times, asked, takeOvers, handOvers });
process.exit(0);
