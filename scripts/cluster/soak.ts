/**
 * `npm run soak`: three nodes are killed, frozen and ended again and again, while conversations go on through a balancer. It counts what was lost, doubled or run
 * twice, and how long people waited. `npm run soak -- 200 20 20` for so many kills, freezes and orderly ends.
 */
import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { BlockDecoder, type Chunk, type Message, WATCHING_SUBPROTOCOL } from '../../src/protocol/index.ts';
import { openPostgresStore } from '../../src/server/postgres/index.ts';
import { type NodeProcess, startNode } from '../../test/cluster/support/nodes.ts';
import { startBalancer } from './balancer.ts';
import { startPostgres } from './postgres-server.ts';

const LEASE_MS = 5000;
const SILENCE_MS = 3000;
const [kills = 20, freezes = 3, ends = 5] = process.argv.slice(2).map(Number);

const postgres = await startPostgres();
const schema = 'soak';
await openPostgresStore({ url: postgres.url, schema }).then((store) => store.close());
const nodes: NodeProcess[] = await Promise.all(
  [1, 2, 3].map(() => startNode(postgres.url, schema, LEASE_MS)),
);
const balancer = await startBalancer(() => nodes.map(({ port }) => port));
let paidBefore = 0;
const paid = () => paidBefore + nodes.reduce((sum, node) => sum + node.paid, 0);
const problems: string[] = [];
const complain = (what: string) => {
  problems.push(what);
  console.log(`PROBLEM: ${what}`);
};

/** What a page sees of a conversation: its text, and the pauses. */
class Page {
  readonly id = `s-${randomUUID()}`;
  text = '';
  resets = 0;
  /** How often a node has greeted it. */
  greetings = 0;
  dones = 0;
  card: { approvalId: string; toolCallId: string } | null = null;
  outputs: string[] = [];
  private last = '';
  private socket: WebSocket | null = null;
  private isClosed = false;
  private isAsking = false;
  private pending: { requestId: string } | null = null;
  private readonly looking: NodeJS.Timeout;
  /** When the last sign of the session came. */
  heardAt = performance.now();
  private waiting: (() => void)[] = [];

  constructor() {
    // A node that is frozen keeps its connections: who waits for an answer does not wait for long.
    this.looking = setInterval(() => {
      if (this.isAsking && performance.now() - this.heardAt > SILENCE_MS) this.socket?.terminate();
    }, 250);
  }

  async open(): Promise<this> {
    while (!this.isClosed && !(await this.attempt())) await sleep(50 + Math.random() * 100);
    return this;
  }

  say(text: string): void {
    this.send({ messages: [{ id: randomUUID(), role: 'user', parts: [{ type: 'text', text }] }] });
  }

  approve(): void {
    if (!this.card) return;
    const { approvalId, toolCallId } = this.card;
    const part = {
      type: 'tool-any',
      toolCallId,
      state: 'approval-responded',
      approval: { id: approvalId, approved: true },
    };
    this.send({ messages: [{ id: 'assistant', role: 'assistant', parts: [part] }] });
  }

  async until(condition: () => boolean, what: string, ms = 60_000): Promise<boolean> {
    const end = performance.now() + ms;
    while (!condition()) {
      if (performance.now() > end) {
        complain(`${what} did not come in ${this.id}`);
        return false;
      }
      await Promise.race([sleep(50), new Promise<void>((done) => this.waiting.push(done))]);
    }
    return true;
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.looking);
    this.socket?.terminate();
  }

  private send(data: object): void {
    this.isAsking = true;
    this.heardAt = performance.now();
    this.pending = { requestId: randomUUID(), ...data };
    this.sendPending();
  }

  /** What was not taken is said again, under its name, to whoever has the session now. */
  private sendPending(): void {
    if (!this.pending || this.socket?.readyState !== WebSocket.OPEN) return;
    this.socket.send(JSON.stringify({ type: 'message', version: '1.0', data: this.pending }));
  }

  private attempt(): Promise<boolean> {
    const query = `?session=${this.id}${this.last && `&last=${this.last}`}`;
    const socket = new WebSocket(`${balancer.url.replace('http', 'ws')}/live${query}`, [
      WATCHING_SUBPROTOCOL,
    ]);
    const decoder = new BlockDecoder();
    return new Promise((done) => {
      socket.on('error', () => undefined);
      socket.once('open', () => {
        this.socket = socket;
        done(true);
      });
      socket.on('message', (data: Buffer) => {
        for (const { id, data: value } of decoder.push(data.toString('utf8'))) this.take(value, id);
      });
      socket.once('close', () => {
        done(false);
        if (this.socket === socket && !this.isClosed) {
          this.socket = null;
          this.open().catch(() => undefined);
        }
      });
    });
  }

  private take(value: string, id: string | undefined): void {
    this.heardAt = performance.now();
    if (id) this.last = id;
    if (value === '[DONE]') {
      this.dones++;
      this.isAsking = false;
    } else this.apply(JSON.parse(value) as Chunk);
    for (const wake of this.waiting.splice(0)) wake();
  }

  private apply(chunk: Chunk): void {
    if (chunk.type === 'text-delta') this.text += chunk.delta;
    if (chunk.type === 'data-accepted' && chunk.data.requestId === this.pending?.requestId)
      this.pending = null;
    if (chunk.type === 'data-session') {
      this.greetings++;
      const { received = [] } = chunk.data;
      if (received.some(({ requestId }) => requestId === this.pending?.requestId)) this.pending = null;
      this.sendPending();
    }
    if (chunk.type === 'tool-approval-request') this.card = chunk;
    if (chunk.type === 'tool-output-available') this.outputs.push(JSON.stringify(chunk.output));
    if (chunk.type === 'tool-output-error') this.outputs.push(chunk.errorText);
    if (chunk.type !== 'data-reset') return;
    this.resets++;
    this.text = chunk.data.messages.map(textOf).join('');
    for (const { parts } of chunk.data.messages) {
      for (const part of parts) {
        if ('output' in part && part.output !== undefined) this.outputs.push(JSON.stringify(part.output));
        if ('errorText' in part && part.errorText) this.outputs.push(part.errorText);
      }
    }
  }
}

const textOf = ({ role, parts }: Message) =>
  role === 'assistant' ? parts.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));
const counted = (to: number) => Array.from({ length: to }, (_, index) => `${index + 1} `).join('');

/** Which node owns a session: the one that answers without handing on. */
async function ownerOf(id: string): Promise<NodeProcess> {
  for (const node of nodes) {
    const answer = await fetch(`${node.url}/sessions/${id}`, { headers: { 'x-duologue-forwarded': '1' } });
    if (answer.status === 200) return node;
  }
  throw new Error(`Nobody owns ${id}.`);
}

async function replace(node: NodeProcess): Promise<void> {
  nodes.splice(nodes.indexOf(node), 1);
  paidBefore += node.paid;
  nodes.push(await startNode(postgres.url, schema, LEASE_MS));
}

interface Result {
  name: string;
  rounds: number;
  pauses: number[];
  paid: number;
  unknown: number;
}

/** One conversation speaks, another has a card, while something happens to the node that owns both, or one of them. */
async function round(how: 'kill' | 'freeze' | 'end', result: Result): Promise<void> {
  const [talking, paying] = await Promise.all([new Page().open(), new Page().open()]);
  paying.say('pay');
  await paying.until(() => paying.card !== null, 'the card');
  const length = how === 'end' ? 20 : 400;
  talking.say(`count ${length}`);
  await talking.until(() => talking.text.length > (how === 'end' ? 4 : 40), 'the first words');
  const owner = await ownerOf(talking.id);
  const before = paid();
  const at = performance.now();
  if (how === 'freeze') owner.process.kill('SIGSTOP');
  else owner.process.kill(how === 'kill' ? 'SIGKILL' : 'SIGTERM');
  if (how !== 'freeze') nodes.splice(nodes.indexOf(owner), 1);
  if (how === 'end') {
    await talking.until(() => talking.dones > 0, 'the end of the answer');
    if (talking.text !== counted(length)) complain(`an answer was cut by an orderly end: ${talking.text}`);
    const { greetings } = talking;
    const free = performance.now();
    await talking.until(() => talking.greetings > greetings, 'the new owner');
    result.pauses.push(performance.now() - free);
  } else {
    if (how === 'freeze') nodes.splice(nodes.indexOf(owner), 1);
    await talking.until(() => talking.resets > 0, 'the reset');
    result.pauses.push(performance.now() - at);
    if (!counted(length).startsWith(talking.text)) complain(`words were lost or doubled: ${talking.text}`);
  }
  // The person goes on, in both: on whichever node answers.
  const said = talking.text;
  const dones = talking.dones;
  talking.say('count 3');
  await talking.until(() => talking.dones > dones, 'the next answer');
  if (talking.text !== said + counted(3)) complain(`the next answer is ${talking.text}`);
  for (let attempt = 0; attempt < 20 && paying.outputs.length === 0; attempt++) {
    paying.approve();
    await Promise.race([paying.until(() => paying.outputs.length > 0, 'the payment', 70_000), sleep(1000)]);
  }
  await paying.until(() => paying.outputs.length > 0, 'the payment');
  if (how === 'freeze') {
    owner.process.kill('SIGCONT');
    await sleep(500);
    nodes.push(owner);
  }
  const done = paid() + (how === 'freeze' ? 0 : owner.paid) - before;
  if (done > 1) complain(`paid ${done} times`);
  if (paying.outputs.some((output) => output.includes('unknown'))) result.unknown++;
  else if (done !== 1) complain(`paid ${done} times, and nobody says that it is unknown`);
  result.paid += done;
  result.rounds++;
  talking.close();
  paying.close();
  if (how !== 'freeze') {
    nodes.push(owner);
    await replace(owner);
  }
}

const results: Result[] = [];
for (const [name, how, count] of [
  ['killed', 'kill', kills],
  ['frozen', 'freeze', freezes],
  ['ended', 'end', ends],
] as const) {
  const result: Result = { name, rounds: 0, pauses: [], paid: 0, unknown: 0 };
  results.push(result);
  for (let index = 0; index < count; index++) {
    await round(how, result);
    console.log(`${name} ${index + 1} of ${count}: ${Math.round(result.pauses.at(-1) ?? 0)} ms`);
  }
}

const part = (values: number[], share: number) =>
  Math.round(
    [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0,
  );
console.log(
  `\nLease ${LEASE_MS} ms.\n\n| the owner was | times | pause p50 / p90 / max, ms | paid | unknown |\n|---|---|---|---|---|`,
);
for (const { name, rounds, pauses, paid: times, unknown } of results) {
  console.log(
    `| ${name} | ${rounds} | ${part(pauses, 0.5)} / ${part(pauses, 0.9)} / ${part(pauses, 1)} | ${times} | ${unknown} |`,
  );
}
console.log(`\n${problems.length} problems`);
for (const node of nodes) await node.end('SIGKILL');
await balancer.close();
await postgres.close();
process.exit(problems.length === 0 ? 0 : 1);
