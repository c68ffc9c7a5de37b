import { describe, expect, it } from 'vitest';
import { DuologueHttp } from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { UserQueue } from '../../src/server/access/limits.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { harness } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { TestSocket } from '../support/socket.ts';

const key = { app: 'duologue', user: 'live_user', id: 'long', fence: 0 };

/** A store with a session of so many messages of that length. */
async function longSession(count: number, length: number) {
  const store = createMemoryStore();
  await store.createSession(key, {});
  const messages: Message[] = Array.from({ length: count }, (_, n) => ({
    id: `m${n}`,
    role: 'user',
    parts: [{ type: 'text', text: String(n).padEnd(length, '.') }],
  }));
  for (const message of messages) await store.putMessage(key, message);
  return { store, messages };
}

describe('a long conversation', () => {
  it('[S18] [S18a] is told in pages from its end, each with the way to the one before', async () => {
    const { store, messages } = await longSession(250, 10);
    const { get } = harness([], [], { store });
    const seen: string[] = [];
    let older: string | null = null;
    do {
      const answer = await get(`/sessions/long${older === null ? '' : `?before=${older}`}`);
      const page = (await answer.json()) as { messages: Message[]; older: string | null };
      seen.unshift(...page.messages.map(({ id }) => id));
      expect(page.messages.length).toBeLessThanOrEqual(100);
      older = page.older;
    } while (older !== null);
    expect(seen).toEqual(messages.map(({ id }) => id));
    expect((await get('/sessions/long?before=gone')).status).toBe(404);
  });

  it('[S18] of long messages has pages of 256 kB', async () => {
    const { store } = await longSession(20, 50_000);
    const { get } = harness([], [], { store });
    const text = await (await get('/sessions/long')).text();
    expect(text.length).toBeLessThan(262_144 + 1024);
    expect((JSON.parse(text) as { messages: unknown[] }).messages).toHaveLength(5);
  });

  it('[R5a] is sent as one page to a client that cannot resume where it was', async () => {
    const { store, messages } = await longSession(250, 10);
    const { get } = harness([], [], { store });
    const reader = (await get('/sessions/long/watch?last=gone:7')).body?.getReader();
    let reported = '';
    while (!reported.includes('"data-reset"'))
      reported += Buffer.from((await reader?.read())?.value ?? []).toString();
    await reader?.cancel();
    const line = reported.split('\n').find((each) => each.includes('"data-reset"')) ?? '';
    expect(JSON.parse(line.slice('data: '.length)).data).toEqual({
      messages: messages.slice(150),
      older: 'm150',
    });
  });

  it('[S18] is read whole by the client, and again when it was taken back meanwhile', async () => {
    const { store, messages } = await longSession(250, 10);
    const { get } = harness([], [], { store });
    let asked = 0;
    const http = new DuologueHttp({
      url: '',
      fetch: async (path: string | URL | Request) => {
        const owner = ++asked === 2 ? await store.own(key) : null;
        if (owner) await store.truncateMessages(owner, 'm120');
        return get(String(path));
      },
    });
    expect((await http.readSession('long'))?.messages).toEqual(messages.slice(0, 120));
    expect(await http.readSession('none')).toBeNull();
  });
});

describe('many conversations', () => {
  it('[S24] are listed in pages of 100, the one used last first; those in which nothing was said are left out', async () => {
    let now = 0;
    const store = createMemoryStore({ now: () => now });
    for (let n = 0; n < 250; n++) {
      now = 1000 + Math.floor(n / 2);
      const one = { ...key, id: `s${String(n).padStart(3, '0')}` };
      await store.createSession(one, {});
      await store.createSession({ ...key, id: `empty ${n}` }, {});
      await store.putMessage(one, { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] });
    }
    const { get } = harness([], [], { store });
    const http = new DuologueHttp({ url: '', fetch: async (path) => get(String(path)) });
    const pages: string[][] = [];
    for (let older: string | null = ''; older !== null; ) {
      const answer = await get(`/sessions${older && `?before=${encodeURIComponent(older)}`}`);
      const page = (await answer.json()) as { sessions: { id: string }[]; older?: string };
      pages.push(page.sessions.map(({ id }) => id));
      older = page.older ?? null;
    }
    expect(pages.map((page) => page.length)).toEqual([100, 100, 50]);
    expect(new Set(pages.flat()).size).toBe(250);
    expect(pages[0]?.slice(0, 4)).toEqual(['s248', 's249', 's246', 's247']);
    const newest = await http.listSessions();
    const next = await http.listSessions(undefined, newest.at(-1));
    expect([newest, next].map((page) => page.map(({ id }) => id))).toEqual(pages.slice(0, 2));
    expect((await get('/sessions?before=yesterday')).status).toBe(400);
  });
});

describe('reading', () => {
  it('[A7a] is limited for each user, renaming, removing and handshakes too; posts are counted apart', async () => {
    const { store } = await longSession(1, 10);
    const server = await live([], [], {
      store,
      clock: new ManualClock(),
      readLimit: { burst: 3, perMinute: 60 },
    });
    const { url } = server.served;
    const statuses = [
      (await fetch(`${url}/sessions`)).status,
      (await fetch(`${url}/sessions/long`)).status,
      (await fetch(`${url}/sessions/other`, { method: 'DELETE' })).status,
      (await fetch(`${url}/sessions/long`)).status,
      (await fetch(`${url}/sessions/long`, { method: 'PATCH', body: '{}' })).status,
      (await fetch(`${url}/sessions/long`, { method: 'DELETE' })).status,
      (await fetch(`${url}/health`)).status,
      (await fetch(`${url}/sessions/long/stop`, { method: 'POST' })).status,
    ];
    expect(statuses).toEqual([200, 200, 404, 429, 429, 429, 200, 200]);
    await expect(new TestSocket(server.url).opened()).rejects.toThrow('429');
  });

  it('[A7b] what one user reads follows one after the other, and others come in between', async () => {
    const queue = new UserQueue();
    const order: string[] = [];
    const work = (name: string) => () => void order.push(name);
    const ann = ['a1', 'a2', 'a3'].map((name) => queue.run('ann', work(name)));
    const failing = queue.run('ann', () => Promise.reject(new Error('gone')));
    const after = queue.run('ann', work('a4'));
    const bob = queue.run('bob', work('b1'));
    await expect(failing).rejects.toThrow('gone');
    await Promise.all([...ann, after, bob]);
    expect(order).toEqual(['a1', 'b1', 'a2', 'a3', 'a4']);
  });
});
