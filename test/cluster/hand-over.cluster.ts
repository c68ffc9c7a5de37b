import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { WebSocket } from 'ws';
import { DuologueTransport, resumeWhen } from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { chatOf, type TestChat } from '../client/support/chat.ts';
import { newestSdk } from '../support/sdks.ts';
import { counted, Group, messagesOf, textOf } from './support/group.ts';
import { type HeldWay, openHeldWay } from './support/held-way.ts';
import type { NodeProcess } from './support/nodes.ts';
import { testSchema } from './support/schema.ts';
import { openSlowWay, type SlowWay } from './support/slow-way.ts';

/** Fewer than a node has connections to its database: its lease is renewed over the others. */
const PAGES = 8;
/** What a node asks its database to give a session away. */
const RELEASE = 'duologue release';
const schema = testSchema();
const group = new Group({ database: schema.url, redis: inject('redis'), schema: schema.name }, 1);
const sdk = newestSdk;
const open: { close(): unknown }[] = [];
let database: HeldWay;

beforeAll(async () => {
  await schema.open().then((store) => store.close());
  await group.open();
  database = await openHeldWay(Number(new URL(schema.url).port));
});
afterEach(async () => {
  database.release();
  for (const one of open.splice(0)) await one.close();
  await group.refill();
});
afterAll(async () => {
  await group.close();
  await database.close();
});

interface Page {
  id: string;
  chat: TestChat;
  /** The requests that a node refused with `moved`. */
  refused: Set<string>;
}

/** A page that connects to the first of these addresses, and then to the others. `locate`: its browser tool. */
function page([first = '', ...rest]: string[], locate: () => Promise<string> = async () => ''): Page {
  const id = `s-${randomUUID()}`;
  const refused = new Set<string>();
  const ways = [first, ...rest];
  class Routed extends WebSocket {
    constructor(url: string, protocols: string[]) {
      const { pathname, search } = new URL(url);
      const way = (ways.length > 1 ? ways.shift() : ways[0]) ?? '';
      super(way.replace('http', 'ws') + pathname + search, protocols);
      this.on('message', (data) => {
        for (const [error] of String(data).matchAll(/{"type":"data-error".*?}}?/g)) {
          const [, requestId] = /"requestId":"([^"]+)"/.exec(error) ?? [];
          if (requestId && error.includes('"code":"moved"')) refused.add(requestId);
        }
      });
    }
  }
  const transport = new DuologueTransport<Message>({
    url: first,
    WebSocket: Routed as never,
    executors: { locate },
  });
  open.push(transport);
  const chat = chatOf(sdk, { id, transport, sendAutomaticallyWhen: resumeWhen(transport) });
  return { id, chat, refused };
}

/** A node whose way to the database can be held. */
function heldNode(): Promise<NodeProcess> {
  const url = new URL(schema.url);
  url.port = String(database.port);
  return group.start({ database: url.href });
}

const pagesOf = (node: NodeProcess, locate?: () => Promise<string>) =>
  Array.from({ length: PAGES }, () => page([node.url, group.url], locate));

/** Tells a node to end. Resolves when it is about to give all sessions away, which waits until `release`. */
async function begunToEnd(node: NodeProcess): Promise<{ ended: Promise<void> }> {
  database.hold(RELEASE);
  const ended = group.end(node, 'SIGTERM');
  await expect.poll(() => database.held, { timeout: 30_000 }).toBe(PAGES);
  return { ended };
}

/** Lets the node give its sessions away once each page was refused. */
async function releaseWhenRefused(pages: Page[]): Promise<void> {
  await expect
    .poll(() => pages.filter(({ refused }) => refused.size > 0).length, { timeout: 30_000 })
    .toBe(PAGES);
  database.release();
}

const failures = (pages: Page[]) => pages.flatMap(({ chat }) => (chat.error ? [String(chat.error)] : []));
const texts = async ({ id }: Page) => (await messagesOf(group.url, id)).messages.map(textOf);

describe('what comes to a node while it gives a session away is refused, sent again, and done by the next', () => {
  test('[B34] a message', async () => {
    const node = await heldNode();
    const pages = pagesOf(node);
    await Promise.all(pages.map(({ chat }) => chat.sendMessage({ text: 'count 2' })));
    const { ended } = await begunToEnd(node);
    const sent = pages.map(({ chat }) => chat.sendMessage({ text: 'count 3' }));
    await releaseWhenRefused(pages);
    await Promise.all(sent);
    expect(failures(pages)).toEqual([]);
    for (const one of pages) expect(await texts(one)).toEqual(['count 2', '1 2 ', 'count 3', '1 2 3 ']);
    await ended;
  });

  test('[B34] an approval: it pays once', async () => {
    const node = await heldNode();
    const before = group.paid;
    const pages = pagesOf(node);
    await Promise.all(pages.map(({ chat }) => chat.sendMessage({ text: 'pay' })));
    const { ended } = await begunToEnd(node);
    for (const { chat } of pages) {
      const part = chat.messages.at(-1)?.parts.find((one) => 'approval' in one);
      const { id } = (part as { approval: { id: string } }).approval;
      await chat.addToolApprovalResponse({ id, approved: true });
    }
    await releaseWhenRefused(pages);
    const isPaid = ({ chat }: Page) =>
      chat.messages.at(-1)?.parts.some((part) => 'state' in part && part.state?.startsWith('output'));
    await expect
      .poll(() => pages.filter((one) => one.chat.error ?? isPaid(one)), { timeout: 30_000 })
      .toHaveLength(PAGES);
    expect(failures(pages)).toEqual([]);
    // All of them pay from one wallet: what another payment changed meanwhile is not kept, but each call ran.
    expect(group.paid - before).toBe(PAGES);
    await ended;
  });

  test('[B34] the output of a browser tool', async () => {
    const node = await heldNode();
    let located: (where: string) => void = () => undefined;
    const where = new Promise<string>((resolve) => {
      located = resolve;
    });
    let asked = 0;
    const locate = () => {
      asked++;
      return where;
    };
    const pages = pagesOf(node, locate);
    const talking = pages.map(({ chat }) => chat.sendMessage({ text: 'locate' }));
    await expect.poll(() => asked, { timeout: 30_000 }).toBe(PAGES);
    const { ended } = await begunToEnd(node);
    located('here');
    await releaseWhenRefused(pages);
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

describe('40 idle conversations 50 ms away, around the end of their node', () => {
  const slowly = async (url: string): Promise<SlowWay> => {
    const way = await openSlowWay(Number(new URL(url).port), 50);
    open.push(way);
    return way;
  };

  test('[B34] each message is answered whole, whether it is sent before, while or after the node ends', async () => {
    const node = await group.start();
    const ways = [await slowly(node.url), await slowly(group.url)].map(({ url }) => url);
    const pages = Array.from({ length: 40 }, () => page(ways));
    await Promise.all(pages.map(({ chat }) => chat.sendMessage({ text: 'count 1' })));
    // From 200 ms before the signal until 200 ms after it.
    const sent = pages.map(async ({ chat }, index) => {
      await sleep(index * 10);
      await chat.sendMessage({ text: 'count 2' });
    });
    await sleep(200);
    const ended = group.end(node, 'SIGTERM');
    await Promise.all(sent);
    expect(failures(pages)).toEqual([]);
    for (const one of pages) expect(await texts(one)).toEqual(['count 1', counted(1), 'count 2', counted(2)]);
    await ended;
  });
});
