import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { WebSocket } from 'ws';
import { chatOf } from '../client/support/chat.ts';
import { ways } from '../contract/support/ways.ts';
import { answerBody, approve } from '../server/support/answers.ts';
import { read, say } from '../support/harness.ts';
import { decision } from '../support/live.ts';
import { newestSdk } from '../support/sdks.ts';
import { ask, auditOf, counted, deltas, Group, messagesOf, post, textOf, wordsOf } from './support/group.ts';
import { testSchema } from './support/schema.ts';

/** What a frozen node is waited for, and longer than a busy machine keeps one from saying that it lives. */
const LEASE_MS = 5000;
const schema = testSchema();
const group = new Group({
  database: schema.url,
  redis: inject('redis'),
  schema: schema.name,
  leaseMs: LEASE_MS,
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}

function missing(what: string): never {
  throw new Error(what);
}

/** The processes of the group whose connections count. */
async function processes(): Promise<string[]> {
  const client = await createClient({ url: inject('redis') }).connect();
  const keys = await client.keys(`${schema.name}:node:*`);
  client.destroy();
  return keys;
}

beforeAll(async () => {
  await schema.open().then((store) => store.close());
  await group.open();
});
afterEach(() => group.refill());
afterAll(() => group.close());

describe('any request on any node', () => {
  test('a conversation is begun, read, resumed, stopped and removed on nodes that do not have it', async () => {
    const id = `s-${randomUUID()}`;
    expect(deltas(await post(group.one(0).url, say('count 3', id)))).toBe(counted(3));
    const answering = await ask(group.one(1).url, '/stream', {
      method: 'POST',
      body: JSON.stringify(say('count 1000', id, 'second')),
    });
    expect(answering.status).toBe(200);
    expect(await messagesOf(group.one(2).url, id)).toMatchObject({ isRunning: true });
    const resumed = await ask(group.one(2).url, `/stream/${id}/stream`);
    expect(resumed.status).toBe(200);
    const stopped = await ask(group.one(2).url, `/sessions/${id}/stop`, { method: 'POST', body: '{}' });
    expect(await stopped.json()).toEqual({ stopped: true });
    const [first, second] = [await read(answering), await read(resumed)];
    expect(first.chunks.at(-1)).toMatchObject({ type: 'finish', messageMetadata: { interrupted: true } });
    expect(deltas(second)).toBe(deltas(first));
    const { messages } = await messagesOf(group.one(0).url, id);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(textOf(messages[3])).toBe(deltas(first));
    expect((await ask(group.one(2).url, `/sessions/${id}`, { method: 'DELETE' })).status).toBe(204);
    for (const node of group.nodes) expect((await ask(node.url, `/sessions/${id}`)).status).toBe(404);
  });

  test('a payment that is asked for on one node is approved on another, and paid once', async () => {
    const id = `s-${randomUUID()}`;
    const before = group.paid;
    const asked = await post(group.one(0).url, say('pay', id));
    const answers = await Promise.all(
      group.nodes.map((node) => post(node.url, answerBody(asked, [approve()], id))),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    expect(group.paid - before).toBe(1);
    expect(await auditOf(group.one(1).url, id)).toEqual(['issued', 'approved', 'consumed']);
  });

  test('sockets on three nodes share a conversation: one speaks, the others watch', async () => {
    const id = `s-${randomUUID()}`;
    await post(group.one(0).url, say('count 1', id));
    const all = await Promise.all(group.nodes.map((node) => group.connect(node.url, id)));
    const [speaker] = all;
    speaker?.say('count 20');
    for (const socket of all) {
      await socket.done();
      expect(wordsOf(socket)).toBe(counted(20));
    }
    const [owner] = group.nodes;
    for (const [index, socket] of all.entries()) {
      const { data } = await socket.chunk('data-session');
      expect(data.nodes).toEqual({ serves: group.one(index).url, owns: owner?.url });
    }
    all[1]?.say('pay');
    const card = await (all[2] ?? missing('no socket')).chunk('tool-approval-request');
    const before = group.paid;
    all[2]?.send('message', decision(card));
    for (const socket of all) await socket.chunk('tool-output-available');
    expect(group.paid - before).toBe(1);
  });

  test('what users and apps share is seen by every node: two wallets are one', async () => {
    const amounts: unknown[] = [];
    const ids = group.nodes.map(() => `s-${randomUUID()}`);
    // The second time each node has its session ready, from before the others paid.
    for (const round of ['first', 'second']) {
      for (const [index, id] of ids.entries()) {
        const { url } = group.one(index);
        const asked = await post(url, say('pay', id, round));
        await post(group.url, answerBody(asked, [approve()], id));
        const { messages } = await messagesOf(url, id);
        const part = messages.at(-1)?.parts.find((each) => 'toolCallId' in each);
        amounts.push((part as { output?: { wallet: number } }).output?.wallet);
      }
    }
    const [first = 0] = amounts as number[];
    expect(amounts).toEqual([0, 50, 100, 150, 200, 250].map((paid) => first - paid));
  });
});

type Place = { url: string; port: number };

/** A page with the stock WebSocket transport of the newest `ai`. It connects to the first node of the list that lives, and resumes after a lost connection. */
function stockPage(id: string, first: Place, ...others: Place[]) {
  class Routed extends WebSocket {
    constructor(url: string | URL) {
      const lives =
        [first, ...others].find(({ port }) => group.nodes.some((node) => node.port === port)) ?? first;
      super(String(url).replace(String(first.port), String(lives.port)));
    }
  }
  const way = ways['stock WebSocket']({
    sdk: newestSdk,
    duologue: null as never,
    url: first.url,
    executors: {},
    WebSocket: Routed as never,
  });
  pages.push(way);
  const lost: string[] = [];
  let recovering = 0;
  const chat = chatOf(newestSdk, {
    id,
    transport: way.transport,
    onError: (error) => {
      lost.push(error.message);
      recovering++;
      // The chat changes its status after this call.
      setImmediate(() => void way.recover?.(chat).finally(() => recovering--));
    },
  });
  return { chat, lost, rests: () => recovering === 0 && chat.status === 'ready' };
}

const pages: { close(): void }[] = [];
afterEach(() => {
  for (const page of pages.splice(0)) page.close();
});

describe('an owner that dies', () => {
  test.each(['the node of the client', 'another node'])(
    '[W2] [W6] by a kill, while the stock client of the newest ai reads at %s: the client has every word once, and the chat goes on',
    async (which) => {
      const id = `s-${randomUUID()}`;
      const [owner, second, third] = [group.one(0), group.one(1), group.one(2)];
      await post(owner.url, say('count 1', id));
      const { chat, lost, rests } = stockPage(id, which === 'another node' ? second : owner, second, third);
      void chat.sendMessage({ text: 'count 1000' });
      const shown = () => textOf(chat.messages.at(-1));
      await until(async () => shown().startsWith(counted(60)));
      await group.end(owner, 'SIGKILL');
      await until(async () => rests());
      const { messages } = await messagesOf(group.url, id);
      expect(counted(999).startsWith(shown())).toBe(true);
      expect(shown()).toBe(textOf(messages.at(-1)));
      expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
      expect(chat.messages.at(-1)?.id).toBe(messages.at(-1)?.id);
      expect(messages.at(-1)?.metadata).toMatchObject({ interrupted: true });
      expect(lost.length > 0 || which === 'another node').toBe(true);
      await chat.sendMessage({ text: 'count 5' });
      expect([chat.status, shown()]).toEqual(['ready', counted(5)]);
    },
  );

  test.each([1, 2, 3])(
    'by a kill, while it speaks: another takes the conversation over, with what was said, and goes on (%s)',
    async () => {
      const id = `s-${randomUUID()}`;
      const owner = group.one(0);
      const first = await group.connect(owner.url, id);
      const other = await group.connect(group.one(1).url, id);
      first.say('count 1000');
      await other.until(() => wordsOf(other).startsWith(counted(60)), 'sixty words');
      await group.end(owner, 'SIGKILL');
      await other.closed();
      const back = await group.comeBack(id, other.lastId);
      await back.done();
      // Every chunk once: what the page had, and the rest of it.
      const words = wordsOf(other) + wordsOf(back);
      expect(counted(999).startsWith(words)).toBe(true);
      expect(back.received.some((one) => one.kind === 'chunk' && one.chunk.type === 'data-reset')).toBe(
        false,
      );
      const { messages } = await messagesOf(group.url, id);
      expect(textOf(messages[1])).toBe(words);
      expect(messages[1]?.metadata).toMatchObject({ interrupted: true });
      const { length } = wordsOf(back);
      back.say('count 5');
      await back.done(2);
      expect(wordsOf(back).slice(length)).toBe(counted(5));
    },
  );

  test('[R7] [B28] while it speaks aloud: the answer ends marked as cut off, with the words that were sent as sound', async () => {
    const id = `s-${randomUUID()}`;
    const owner = group.one(0);
    const page = await group.connect(owner.url, id);
    const tone = Int16Array.from({ length: 1600 }, (_, at) => Math.round(8000 * Math.sin(at / 5)));
    const speak = (tenths: number) => {
      page.send('audio_control', { action: 'start', detection: 'client' });
      for (let tenth = 0; tenth < tenths; tenth++)
        page.send('audio_chunk', { chunk: Buffer.from(tone.buffer).toString('base64') });
      page.send('audio_control', { action: 'stop' });
    };
    const pieces = () => page.received.filter((one) => one.kind === 'binary').length;
    // The first answer is spoken whole, and tells how fast this voice speaks.
    speak(60);
    await page.done();
    const before = pieces();
    speak(100);
    await page.until(() => pieces() > before + 20, 'sound');
    await group.end(owner, 'SIGKILL');
    const sent = pieces() - before;
    const back = await group.comeBack(id, page.lastId);
    const end = { interrupted: true, cutOff: true };
    const { data } = await back.chunk('data-heard');
    expect(back.chunks.findLast(({ type }) => type === 'finish')).toMatchObject({
      finishReason: 'other',
      messageMetadata: end,
    });
    const { messages } = await messagesOf(group.url, id);
    const texts = messages.at(-1);
    expect(texts?.metadata).toMatchObject(end);
    expect(data).toEqual({ messageId: texts?.id, length: textOf(texts).length });
    // Every piece is a word. The pace of the voice is a mean, so a few more words may be kept than were sent.
    expect(counted(100).startsWith(textOf(texts))).toBe(true);
    expect(textOf(texts).split(' ').length).toBeLessThanOrEqual(sent + 10);
  });

  test('[A9] its connections count no more as soon as another node has taken its session over', async () => {
    const id = `s-${randomUUID()}`;
    const owner = group.one(0);
    await post(owner.url, say('count 1', id));
    // Only a node that was reached before is known to be dead before its lease has ended.
    await post(group.one(1).url, say('count 1', id, 'first'));
    expect(await processes()).toHaveLength(3);
    await group.end(owner, 'SIGKILL');
    expect(deltas(await post(group.one(0).url, say('count 2', id, 'second')))).toBe(counted(2));
    expect(await processes()).toHaveLength(2);
  });

  test('between the card and the answer: the card is open elsewhere, and what is approved is paid once', async () => {
    const id = `s-${randomUUID()}`;
    const owner = group.one(0);
    const asked = await post(owner.url, say('pay', id));
    const before = group.paid;
    await group.end(owner, 'SIGKILL');
    const answered = await post(group.one(0).url, answerBody(asked, [approve()], id));
    expect(deltas(answered)).toMatch(/^Result: {"paid":50/);
    expect(group.paid - before).toBe(1);
  });

  test('while a payment runs: it is reported as unknown, and never run again', async () => {
    const id = `s-${randomUUID()}`;
    // Its tool has taken the money, and does not return.
    const owner = await group.start({ payMs: 600_000 });
    const asked = await post(owner.url, say('pay', id));
    const before = group.paid;
    const answering = post(group.one(1).url, answerBody(asked, [approve()], id)).catch(() => null);
    await expect.poll(() => group.paid - before).toBe(1);
    await group.end(owner, 'SIGKILL');
    await answering;
    const { messages } = await messagesOf(group.url, id);
    const part = messages[1]?.parts.find((each) => 'toolCallId' in each) as {
      state: string;
      errorText?: string;
    };
    expect([part.state, part.errorText]).toEqual(['output-error', expect.stringMatching(/unknown/)]);
    expect(group.paid - before).toBe(1);
    await post(group.url, say('count 1', id, 'more'));
    expect(group.paid - before).toBe(1);
  });
});

describe('an owner that is frozen', () => {
  test('is taken over after its lease; when it wakes up it writes nothing, plays nothing, and says that it was left', async () => {
    const id = `s-${randomUUID()}`;
    const owner = group.one(0);
    const asked = await post(owner.url, say('pay', id));
    const before = group.paid;
    const talking = `s-${randomUUID()}`;
    const listener = await group.connect(owner.url, talking);
    listener.say('count 1000');
    await listener.until(() => wordsOf(listener).length > 20, 'words');
    const spoken = `s-${randomUUID()}`;
    const hearer = await group.connect(owner.url, spoken);
    const pieces = () => hearer.received.filter((one) => one.kind === 'binary').length;
    hearer.send('audio_control', { action: 'start' });
    const tone = Int16Array.from({ length: 1600 }, (_, at) => Math.round(8000 * Math.sin(at / 5)));
    for (let tenth = 0; tenth < 20; tenth++)
      hearer.send('audio_chunk', { chunk: Buffer.from(tone.buffer).toString('base64') });
    hearer.send('audio_control', { action: 'stop' });
    await hearer.until(() => pieces() > 0, 'sound');
    owner.process.kill('SIGSTOP');
    const answered = await post(group.one(1).url, answerBody(asked, [approve()], id));
    expect(deltas(answered)).toMatch(/^Result: {"paid":50/);
    const { messages } = await messagesOf(group.one(2).url, talking);
    await messagesOf(group.one(2).url, spoken);
    const heard = pieces();
    owner.process.kill('SIGCONT');
    expect(await listener.closed()).toBe(4004);
    expect(await hearer.closed()).toBe(4004);
    expect(pieces()).toBe(heard);
    expect(group.paid - before).toBe(1);
    expect((await messagesOf(owner.url, talking)).messages).toEqual(messages);
    expect(deltas(await post(owner.url, say('count 2', talking, 'more')))).toBe(counted(2));
    expect((await messagesOf(owner.url, id)).messages).toEqual(
      (await messagesOf(group.one(1).url, id)).messages,
    );
  });
});

describe('a node that is told to end', () => {
  test('lets what runs come to its end, and hands its conversations over', async () => {
    const id = `s-${randomUUID()}`;
    const owner = group.one(0);
    await post(owner.url, say('pay', `card-${id}`));
    const other = await group.connect(group.one(1).url, id);
    other.say('count 20');
    await other.until(() => wordsOf(other).length > 2, 'words');
    const ended = group.end(owner, 'SIGTERM');
    await other.done();
    expect(wordsOf(other)).toBe(counted(20));
    await ended;
    const { messages } = await messagesOf(group.url, `card-${id}`);
    expect(messages[1]?.parts.some((part) => 'state' in part && part.state === 'approval-requested')).toBe(
      true,
    );
    expect(deltas(await post(group.url, say('count 3', id, 'more')))).toBe(counted(3));
  });

  test('one after the other, all of them: no answer is cut, and a card that waits is paid once', async () => {
    const [id, card] = [`s-${randomUUID()}`, `card-${randomUUID()}`];
    const before = group.paid;
    const [first, ...others] = [...group.nodes];
    const owner = first ?? missing('no node');
    const asked = await post(owner.url, say('pay', card));
    await post(owner.url, say('count 1', id));
    const waiting = await group.connect(owner.url, card);
    const page = await group.connect(group.url, id);
    page.say('count 300');
    // It keeps the node until all that is asked of it is answered.
    const longer = await group.connect(owner.url, `longer-${id}`);
    longer.say('count 5000');
    await longer.until(() => wordsOf(longer).length > 2, 'words');
    await page.until(() => wordsOf(page).length > 2, 'words');
    const ended = group.end(owner, 'SIGTERM');
    // What waits for a person is given away at once; the closing node hands on what is asked of it.
    expect(await waiting.closed()).toBe(4004);
    expect(deltas(await post(owner.url, answerBody(asked, [approve()], card)))).toMatch(
      /^Result: {"paid":50/,
    );
    expect((await ask(owner.url, '/health')).status).toBe(503);
    expect(deltas(await post(owner.url, say('count 2', `new-${id}`)))).toBe(counted(2));
    const stopped = await ask(group.url, `/sessions/longer-${id}/stop`, { method: 'POST', body: '{}' });
    expect(await stopped.json()).toEqual({ stopped: true });
    await Promise.all([ended, group.start()]);
    for (const node of others) await Promise.all([group.end(node, 'SIGTERM'), group.start()]);
    // A page whose node ended comes back for the rest; no other node will end and cut it off again.
    await page.closed();
    const back = await group.comeBack(id, page.lastId);
    if (!wordsOf(page).endsWith('300 ')) await back.done();
    const words = wordsOf(page) + wordsOf(back);
    expect(words).toBe(counted(300));
    const { messages } = await messagesOf(group.url, id);
    expect(textOf(messages[3])).toBe(words);
    expect(messages[3]?.metadata).not.toMatchObject({ interrupted: true });
    expect(group.paid - before).toBe(1);
    expect(await auditOf(group.url, card)).toEqual(['issued', 'approved', 'consumed']);
  });

  test('hears whoever speaks to it to their end, and answers, before they come back elsewhere', async () => {
    const id = `s-${randomUUID()}`;
    const owner = group.one(0);
    const page = await group.connect(owner.url, id);
    const tone = Int16Array.from({ length: 1600 }, (_, at) => Math.round(8000 * Math.sin(at / 5)));
    const speak = () => page.send('audio_chunk', { chunk: Buffer.from(tone.buffer).toString('base64') });
    page.send('audio_control', { action: 'start', detection: 'client' });
    for (let tenth = 0; tenth < 3; tenth++) speak();
    // What was sent so far is heard: what is sent behind it is answered.
    page.send('ping', { timestamp: 1 });
    await page.until((all) => all.some(({ kind }) => kind === 'raw'), 'a pong');
    const ended = group.end(owner, 'SIGTERM');
    await until(async () => (await ask(owner.url, '/health')).status === 503);
    for (let tenth = 0; tenth < 4; tenth++) speak();
    page.send('audio_control', { action: 'stop' });
    expect(await page.closed()).toBe(4004);
    expect(wordsOf(page)).toBe(counted(7));
    await ended;
    const { messages } = await messagesOf(group.url, id);
    expect(messages.map(textOf)).toEqual(['count 7', counted(7)]);
    expect(messages[1]?.metadata).not.toMatchObject({ interrupted: true });
  });

  test('does not wait longer than it may for an answer, which then says that it was interrupted', async () => {
    const id = `s-${randomUUID()}`;
    const owner = await group.start({ drainMs: 100 });
    const page = await group.connect(owner.url, id);
    page.say('count 1000');
    await page.until(() => wordsOf(page).length > 2, 'words');
    await group.end(owner, 'SIGTERM');
    const { messages } = await messagesOf(group.url, id);
    expect(messages[1]?.metadata).toMatchObject({ interrupted: true });
    expect(counted(999).startsWith(textOf(messages[1]))).toBe(true);
  });
});
