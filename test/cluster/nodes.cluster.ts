import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Balancer, startBalancer } from '../../scripts/cluster/balancer.ts';
import { type Message, WATCHING_SUBPROTOCOL } from '../../src/protocol/index.ts';
import { answerBody, approve } from '../server/support/answers.ts';
import { type Posted, read, say } from '../support/harness.ts';
import { decision } from '../support/live.ts';
import { TestSocket } from '../support/socket.ts';
import { type NodeProcess, startNode } from './support/nodes.ts';
import { testSchema } from './support/schema.ts';

const LEASE_MS = 2000;
const schema = testSchema();
const nodes: NodeProcess[] = [];
/** Payments of nodes that are gone. */
let paidBefore = 0;
let balancer: Balancer;
const sockets: TestSocket[] = [];

const start = async () => {
  const node = await startNode(schema.url, schema.name, LEASE_MS);
  nodes.push(node);
  return node;
};
/** Three nodes, each time. */
const refill = () => Promise.all(Array.from({ length: Math.max(0, 3 - nodes.length) }, start));
const one = (index: number): NodeProcess => nodes[index] ?? raise('There is no such node.');
const end = async (node: NodeProcess, signal: 'SIGKILL' | 'SIGTERM') => {
  nodes.splice(nodes.indexOf(node), 1);
  await node.end(signal);
  paidBefore += node.paid;
};
const paid = () => paidBefore + nodes.reduce((sum, node) => sum + node.paid, 0);

function raise(message: string): never {
  throw new Error(message);
}

beforeAll(async () => {
  await schema.open().then((store) => store.close());
  await refill();
  balancer = await startBalancer(() => nodes.map(({ port }) => port));
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.close();
  await refill();
});
afterAll(async () => {
  await balancer.close();
  for (const node of [...nodes]) await end(node, 'SIGKILL');
});

/** Every request is a connection of its own, so that the balancer sends each somewhere else. */
const headers = { 'content-type': 'application/json', connection: 'close' };

function ask(base: string, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(base + path, { ...init, headers: { ...headers, ...init.headers } });
}

/** Posts with a name, as our transports do: it may be asked again. */
async function post(base: string, body: object): Promise<Posted> {
  const named = { requestId: randomUUID(), ...body };
  return read(await ask(base, '/stream', { method: 'POST', body: JSON.stringify(named) }));
}

async function messagesOf(base: string, id: string): Promise<{ messages: Message[]; isRunning: boolean }> {
  const response = await ask(base, `/sessions/${id}`);
  if (response.status !== 200) raise(`${response.status} ${await response.text()}`);
  return (await response.json()) as { messages: Message[]; isRunning: boolean };
}

const textOf = (message: Message | undefined) =>
  (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
const counted = (to: number) => Array.from({ length: to }, (_, index) => `${index + 1} `).join('');
const deltas = (posted: Posted) =>
  posted.chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');

const wordsOf = (socket: TestSocket) =>
  socket.chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');

async function connect(base: string, id: string, last?: string): Promise<TestSocket> {
  const query = `?session=${id}${last ? `&last=${last}` : ''}`;
  const protocols = [WATCHING_SUBPROTOCOL];
  const socket = new TestSocket(`${base.replace('http', 'ws')}/live${query}`, { protocols });
  sockets.push(socket);
  await socket.opened();
  return socket;
}

describe('any request on any node', () => {
  test('a conversation is begun, read, resumed, stopped and removed on nodes that do not have it', async () => {
    const id = `s-${randomUUID()}`;
    expect(deltas(await post(one(0).url, say('count 3', id)))).toBe(counted(3));
    const answering = await ask(one(1).url, '/stream', {
      method: 'POST',
      body: JSON.stringify(say('count 1000', id, 'second')),
    });
    expect(answering.status).toBe(200);
    expect(await messagesOf(one(2).url, id)).toMatchObject({ isRunning: true });
    const resumed = await ask(one(2).url, `/stream/${id}/stream`);
    expect(resumed.status).toBe(200);
    const stopped = await ask(one(2).url, `/sessions/${id}/stop`, { method: 'POST', body: '{}' });
    expect(await stopped.json()).toEqual({ stopped: true });
    const [first, second] = [await read(answering), await read(resumed)];
    expect(first.chunks.at(-1)).toMatchObject({ type: 'finish', messageMetadata: { interrupted: true } });
    expect(deltas(second)).toBe(deltas(first));
    const { messages } = await messagesOf(one(0).url, id);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(textOf(messages[3])).toBe(deltas(first));
    expect((await ask(one(2).url, `/sessions/${id}`, { method: 'DELETE' })).status).toBe(204);
    for (const node of nodes) expect((await ask(node.url, `/sessions/${id}`)).status).toBe(404);
  });

  test('a payment that is asked for on one node is approved on another, and paid once', async () => {
    const id = `s-${randomUUID()}`;
    const before = paid();
    const asked = await post(one(0).url, say('pay', id));
    const answers = await Promise.all(
      nodes.map((node) => post(node.url, answerBody(asked, [approve()], id))),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    expect(paid() - before).toBe(1);
    const lines = (await (await ask(one(1).url, `/approvals/${id}`)).text()).trim().split('\n');
    expect(
      lines.map((line) => (JSON.parse(line) as { kind: string }).kind).filter((kind) => kind !== 'refused'),
    ).toEqual(['issued', 'approved', 'consumed']);
  });

  test('sockets on three nodes share a conversation: one speaks, the others watch', async () => {
    const id = `s-${randomUUID()}`;
    const all = await Promise.all(nodes.map((node) => connect(node.url, id)));
    const [speaker] = all;
    speaker?.say('count 20');
    for (const socket of all) {
      await socket.done();
      expect(wordsOf(socket)).toBe(counted(20));
    }
    all[1]?.say('pay');
    const card = await (all[2] ?? raise('no socket')).chunk('tool-approval-request');
    const before = paid();
    all[2]?.send('message', decision(card));
    for (const socket of all) await socket.chunk('tool-output-available');
    expect(paid() - before).toBe(1);
  });

  test('what users and apps share is seen by every node: two wallets are one', async () => {
    const amounts: unknown[] = [];
    for (const node of nodes) {
      const id = `s-${randomUUID()}`;
      const asked = await post(node.url, say('pay', id));
      await post(balancer.url, answerBody(asked, [approve()], id));
      const { messages } = await messagesOf(node.url, id);
      const part = messages[1]?.parts.find((each) => 'toolCallId' in each) as { output?: { wallet: number } };
      amounts.push(part.output?.wallet);
    }
    const [first = 0] = amounts as number[];
    expect(amounts).toEqual([first, first - 50, first - 100]);
  });
});

/** Comes back to the balancer, as a page does, until someone answers. */
async function comeBack(id: string, last: string | undefined): Promise<TestSocket> {
  for (;;) {
    const socket = await connect(balancer.url, id, last).catch(() => null);
    if (socket) return socket;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('an owner that dies', () => {
  test('by a kill, while it speaks: another takes the conversation over, with what was said, and goes on', async () => {
    for (let kill = 0; kill < 3; kill++) {
      const id = `s-${randomUUID()}`;
      const owner = one(0);
      const first = await connect(owner.url, id);
      const other = await connect(one(1).url, id);
      first.say('count 400');
      await other.until(() => wordsOf(other).startsWith(counted(60)), 'sixty words');
      await end(owner, 'SIGKILL');
      await other.closed();
      const back = await comeBack(id, other.lastId);
      const reset = await back.chunk('data-reset');
      const answer = reset.data.messages[1];
      expect(counted(400).startsWith(textOf(answer))).toBe(true);
      expect(textOf(answer).length).toBeGreaterThan(20);
      expect(answer?.metadata).toMatchObject({ interrupted: true });
      back.say('count 5');
      await back.done();
      expect(wordsOf(back)).toBe(counted(5));
      await refill();
    }
  });

  test('between the card and the answer: the card is open elsewhere, and what is approved is paid once', async () => {
    const id = `s-${randomUUID()}`;
    const owner = one(0);
    const asked = await post(owner.url, say('pay', id));
    const before = paid();
    await end(owner, 'SIGKILL');
    const answered = await post(one(0).url, answerBody(asked, [approve()], id));
    expect(deltas(answered)).toMatch(/^Result: {"paid":50/);
    expect(paid() - before).toBe(1);
  });

  test('while a payment runs: it is reported as unknown, and never run again', async () => {
    const id = `s-${randomUUID()}`;
    const owner = one(0);
    const asked = await post(owner.url, say('pay', id));
    const before = paid();
    const answering = post(one(1).url, answerBody(asked, [approve()], id)).catch(() => null);
    await expect.poll(() => paid() - before, { interval: 2 }).toBe(1);
    await end(owner, 'SIGKILL');
    await answering;
    const { messages } = await messagesOf(balancer.url, id);
    const part = messages[1]?.parts.find((each) => 'toolCallId' in each) as {
      state: string;
      errorText?: string;
    };
    expect([part.state, part.errorText]).toEqual(['output-error', expect.stringMatching(/unknown/)]);
    expect(paid() - before).toBe(1);
    await post(balancer.url, say('count 1', id, 'more'));
    expect(paid() - before).toBe(1);
  });
});

describe('an owner that is frozen', () => {
  test('is taken over after its lease; when it wakes up it writes nothing, and says that it was left', async () => {
    const id = `s-${randomUUID()}`;
    const owner = one(0);
    const asked = await post(owner.url, say('pay', id));
    const before = paid();
    const talking = `s-${randomUUID()}`;
    const listener = await connect(owner.url, talking);
    listener.say('count 1000');
    await listener.until(() => wordsOf(listener).length > 20, 'words');
    owner.process.kill('SIGSTOP');
    const answered = await post(one(1).url, answerBody(asked, [approve()], id));
    expect(deltas(answered)).toMatch(/^Result: {"paid":50/);
    const { messages } = await messagesOf(one(2).url, talking);
    owner.process.kill('SIGCONT');
    expect(await listener.closed()).toBe(4004);
    expect(paid() - before).toBe(1);
    expect((await messagesOf(owner.url, talking)).messages).toEqual(messages);
    expect(deltas(await post(owner.url, say('count 2', talking, 'more')))).toBe(counted(2));
    expect((await messagesOf(owner.url, id)).messages).toEqual((await messagesOf(one(1).url, id)).messages);
  });
});

describe('a node that is told to end', () => {
  test('lets what runs come to its end, and hands its conversations over', async () => {
    const id = `s-${randomUUID()}`;
    const owner = one(0);
    await post(owner.url, say('pay', `card-${id}`));
    const other = await connect(one(1).url, id);
    other.say('count 20');
    await other.until(() => wordsOf(other).length > 2, 'words');
    const ended = end(owner, 'SIGTERM');
    await other.done();
    expect(wordsOf(other)).toBe(counted(20));
    await ended;
    const { messages } = await messagesOf(balancer.url, `card-${id}`);
    expect(messages[1]?.parts.some((part) => 'state' in part && part.state === 'approval-requested')).toBe(
      true,
    );
    expect(deltas(await post(balancer.url, say('count 3', id, 'more')))).toBe(counted(3));
  });
});
