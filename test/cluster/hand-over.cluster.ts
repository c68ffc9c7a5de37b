import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { WebSocket } from 'ws';
import { DuologueTransport, resumeWhen } from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { chatOf, sdks, type TestChat } from '../client/support/chat.ts';
import { ask, Group, messagesOf, textOf } from './support/group.ts';
import type { NodeProcess } from './support/nodes.ts';
import { testSchema } from './support/schema.ts';
import { openSlowWay, type SlowWay } from './support/slow-way.ts';

/** How long everything takes from the node that ends to its database: so long, twice, it has sessions that it gives away. */
const ONE_WAY_MS = 100;
const PAGES = 10;
const schema = testSchema();
const group = new Group({ database: schema.url, redis: inject('redis'), schema: schema.name }, 1);
const sdk = sdks[1]?.[1] as (typeof sdks)[number][1];
const open: DuologueTransport<Message>[] = [];
let database: SlowWay;

beforeAll(async () => {
  await schema.open().then((store) => store.close());
  await group.open();
  database = await openSlowWay(Number(new URL(schema.url).port), ONE_WAY_MS);
});
afterEach(async () => {
  for (const one of open.splice(0)) one.close();
  await group.refill();
});
afterAll(async () => {
  await group.close();
  await database.close();
});

interface Page {
  id: string;
  chat: TestChat;
}

/** A page that comes to a node first, and then to the balancer. `locate`: its browser tool. */
function page(node: NodeProcess, locate: () => Promise<string>): Page {
  const id = `s-${randomUUID()}`;
  const ways = [node.url];
  class Routed extends WebSocket {
    constructor(url: string, protocols: string[]) {
      const { pathname, search } = new URL(url);
      super((ways.shift() ?? group.url).replace('http', 'ws') + pathname + search, protocols);
    }
  }
  const transport = new DuologueTransport<Message>({
    url: node.url,
    WebSocket: Routed as never,
    executors: { locate },
  });
  open.push(transport);
  return { id, chat: chatOf(sdk, { id, transport, sendAutomaticallyWhen: resumeWhen(transport) }) };
}

const slowNode = () => {
  const url = new URL(schema.url);
  url.port = new URL(database.url).port;
  return group.start({ database: url.href });
};

/** Tells a node to end. Resolves when it has begun to give its sessions away. */
async function begunToEnd(node: NodeProcess): Promise<{ ended: Promise<void> }> {
  const ended = group.end(node, 'SIGTERM');
  await expect.poll(async () => (await ask(node.url, '/health')).status, { interval: 5 }).toBe(503);
  return { ended };
}

const failures = (pages: Page[]) => pages.flatMap(({ chat }) => (chat.error ? [String(chat.error)] : []));
const said = async ({ id }: Page) => (await messagesOf(group.url, id)).messages.map(textOf);

describe('what comes to a node while it gives a session away is refused, sent again, and done by the next', () => {
  test('[B34] a message', async () => {
    const node = await slowNode();
    const pages = Array.from({ length: PAGES }, () => page(node, async () => ''));
    await Promise.all(pages.map(({ chat }) => chat.sendMessage({ text: 'count 2' })));
    const { ended } = await begunToEnd(node);
    await Promise.all(pages.map(({ chat }) => chat.sendMessage({ text: 'count 3' })));
    expect(failures(pages)).toEqual([]);
    for (const one of pages) expect(await said(one)).toEqual(['count 2', '1 2 ', 'count 3', '1 2 3 ']);
    await ended;
  });

  test('[B34] an approval: it pays once', async () => {
    const node = await slowNode();
    const before = group.paid;
    const pages = Array.from({ length: PAGES }, () => page(node, async () => ''));
    await Promise.all(pages.map(({ chat }) => chat.sendMessage({ text: 'pay' })));
    const { ended } = await begunToEnd(node);
    for (const { chat } of pages) {
      const part = chat.messages.at(-1)?.parts.find((one) => 'approval' in one);
      const { id } = (part as { approval: { id: string } }).approval;
      await chat.addToolApprovalResponse({ id, approved: true });
    }
    const isPaid = ({ chat }: Page) =>
      chat.messages.at(-1)?.parts.some((part) => 'state' in part && part.state?.startsWith('output'));
    await expect.poll(() => pages.filter((one) => one.chat.error ?? isPaid(one))).toHaveLength(PAGES);
    expect(failures(pages)).toEqual([]);
    // All of them pay from one wallet: what another payment changed meanwhile is not kept, but each call ran.
    expect(group.paid - before).toBe(PAGES);
    await ended;
  });

  test('[B34] the output of a browser tool', async () => {
    const node = await slowNode();
    let located: (where: string) => void = () => undefined;
    const where = new Promise<string>((resolve) => {
      located = resolve;
    });
    let asked = 0;
    const locate = () => {
      asked++;
      return where;
    };
    const pages = Array.from({ length: PAGES }, () => page(node, locate));
    const talking = pages.map(({ chat }) => chat.sendMessage({ text: 'locate' }));
    await expect.poll(() => asked).toBe(PAGES);
    const { ended } = await begunToEnd(node);
    located('here');
    await Promise.all(talking);
    expect(failures(pages)).toEqual([]);
    const outputOf = async ({ id }: Page) => {
      const { messages } = await messagesOf(group.url, id);
      const part = messages.at(-1)?.parts.find((one) => 'toolCallId' in one);
      return (part as { output?: unknown } | undefined)?.output;
    };
    for (const one of pages) await expect.poll(() => outputOf(one)).toBe('here');
    await ended;
  });
});
