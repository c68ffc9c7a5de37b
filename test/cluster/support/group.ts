import { randomUUID } from 'node:crypto';
import { type Balancer, startBalancer } from '../../../scripts/cluster/balancer.ts';
import { type Message, WATCHING_SUBPROTOCOL } from '../../../src/protocol/index.ts';
import { type Posted, read } from '../../support/harness.ts';
import { TestSocket } from '../../support/socket.ts';
import { type NodeProcess, type NodeSettings, startNode } from './nodes.ts';

/** Nodes on one database, behind a balancer, and the sockets that a test opened to them. */
export class Group {
  readonly nodes: NodeProcess[] = [];
  readonly #settings: Pick<NodeSettings, 'database' | 'schema'> & Partial<NodeSettings>;
  readonly #size: number;
  readonly #sockets: TestSocket[] = [];
  #balancer: Balancer | null = null;
  /** Payments of nodes that have ended. */
  #paidBefore = 0;

  constructor(settings: Pick<NodeSettings, 'database' | 'schema'> & Partial<NodeSettings>, size = 3) {
    this.#settings = settings;
    this.#size = size;
  }

  async open(): Promise<void> {
    await this.refill();
    this.#balancer = await startBalancer(() => this.nodes.map(({ port }) => port));
  }

  get url(): string {
    return this.#balancer?.url ?? '';
  }

  /** The number of payments by all nodes, including ended ones. */
  get paid(): number {
    return this.#paidBefore + this.nodes.reduce((sum, node) => sum + node.paid.length, 0);
  }

  one(index: number): NodeProcess {
    const node = this.nodes[index];
    if (!node) throw new Error('There is no such node.');
    return node;
  }

  /** Starts another node; its own settings override those of the group. */
  async start(own: Partial<NodeSettings> = {}): Promise<NodeProcess> {
    const node = await startNode({ ...this.#settings, ...own });
    this.nodes.push(node);
    return node;
  }

  /** Restores the initial number of nodes and closes all sockets. */
  async refill(): Promise<void> {
    for (const socket of this.#sockets.splice(0)) socket.close();
    const missing = Math.max(0, this.#size - this.nodes.length);
    await Promise.all(Array.from({ length: missing }, () => this.start()));
  }

  async end(node: NodeProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.nodes.splice(this.nodes.indexOf(node), 1);
    await node.end(signal);
    this.#paidBefore += node.paid.length;
  }

  async connect(base: string, id: string, last?: string): Promise<TestSocket> {
    const query = `?session=${id}${last ? `&last=${last}` : ''}`;
    const socket = new TestSocket(`${base.replace('http', 'ws')}/live${query}`, {
      protocols: [WATCHING_SUBPROTOCOL],
    });
    this.#sockets.push(socket);
    await socket.opened();
    return socket;
  }

  /** Reconnects to the balancer, as a page does, until a node answers. */
  async comeBack(id: string, last: string | undefined): Promise<TestSocket> {
    for (;;) {
      const socket = await this.connect(this.url, id, last).catch(() => null);
      if (socket) return socket;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.splice(0)) socket.close();
    await this.#balancer?.close();
    for (const node of [...this.nodes]) await this.end(node, 'SIGKILL');
  }
}

/** Every request has its own connection. */
const headers = { 'content-type': 'application/json', connection: 'close' };

export function ask(base: string, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(base + path, { ...init, headers: { ...headers, ...init.headers } });
}

/** Posts with a request id, as our transports do, so that it may be repeated. */
export async function post(base: string, body: object): Promise<Posted> {
  const named = { requestId: randomUUID(), ...body };
  return read(await ask(base, '/stream', { method: 'POST', body: JSON.stringify(named) }));
}

export async function messagesOf(
  base: string,
  id: string,
): Promise<{ messages: Message[]; isRunning: boolean }> {
  const response = await ask(base, `/sessions/${id}`);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as { messages: Message[]; isRunning: boolean };
}

export const textOf = (message: Message | undefined): string =>
  (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');

/** The text of a node that counts up to this number. */
export const counted = (to: number): string =>
  Array.from({ length: to }, (_, index) => `${index + 1} `).join('');

export const deltas = (posted: Posted): string =>
  posted.chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');

export const wordsOf = (socket: TestSocket): string =>
  socket.chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');

/** The kinds of the lines of an audit log, without refusals. */
export async function auditOf(base: string, id: string): Promise<string[]> {
  const lines = (await (await ask(base, `/approvals/${id}`)).text()).trim().split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { kind: string }).kind)
    .filter((kind) => kind !== 'refused');
}
