import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createEvent } from '@google/adk';
import { expect, onTestFinished } from 'vitest';
import { BlockDecoder } from '../../../src/protocol/index.ts';
import type { Store } from '../../../src/server/store/store.ts';
import { png } from '../../server/support/images.ts';
import { TestSocket } from '../../support/socket.ts';

const script = fileURLToPath(new URL('brief-server.ts', import.meta.url));
const MB = 1024 * 1024;

/** Pictures of the largest size that a message may have; `n` makes each one different. */
const picture = (n: number) =>
  Buffer.concat([png, Buffer.alloc(3.9 * MB - png.byteLength, n + 1)]).toString('base64');

/** Sessions with 300 MB each: one of pictures inside events, as earlier versions stored them, and one of text. */
export async function seed(store: Store): Promise<void> {
  const old = await begin(store, 'old-pictures');
  for (let n = 0; n < 15; n++) {
    const inlineData = { mimeType: 'image/png', data: picture(n) };
    const parts = Array.from({ length: 4 }, () => ({ inlineData }));
    await store.appendEvent(old, createEvent({ author: 'user', content: { role: 'user', parts } }));
    const answer = { role: 'model', parts: [{ text: 'Seen.' }] };
    await store.appendEvent(old, createEvent({ author: 'assistant', content: answer }));
    await store.putMessage(old, { id: `u${n}`, role: 'user', parts: [{ type: 'text', text: 'Pictures' }] });
    await store.putMessage(old, { id: `a${n}`, role: 'assistant', parts: [{ type: 'text', text: 'Seen.' }] });
  }
  const long = await begin(store, 'text');
  for (let n = 0; n < 600; n++) {
    const text = String(n).padEnd(500_000, '.');
    const isUser = n % 2 === 0;
    const content = { role: isUser ? 'user' : 'model', parts: [{ text }] };
    await store.appendEvent(long, createEvent({ author: isUser ? 'user' : 'assistant', content }));
    const role = isUser ? 'user' : 'assistant';
    await store.putMessage(long, {
      id: `m${n}`,
      role,
      parts: [{ type: 'text', text: text.slice(0, 100_000) }],
    });
  }
}

async function begin(store: Store, id: string) {
  const key = { app: 'duologue', user: 'live_user', id, fence: 0 };
  await store.createSession(key, {});
  await store.renameSession(key, id);
  return key;
}

/** Starts a server with a heap of 256 MB, in a process of its own; `place` is a folder, or the address of a PostgreSQL and a schema. */
async function start(...place: string[]): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, ['--max-old-space-size=256', '--import', 'tsx', script, ...place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { url: String(line).trim(), child };
}

/** Calls every route of a server whose sessions have 300 MB, before and after a restart; the server must not run out of memory. */
export async function useLongSessions(...place: string[]): Promise<void> {
  let server = await start(...place);
  const stop = async () => {
    const { child } = server;
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(stop);
  // Pictures as the current version stores them: 40 messages, 312 MB.
  for (let n = 0; n < 40; n++) {
    const files = [picture(2 * n), picture(2 * n + 1)].map((data) => ({
      type: 'file',
      mediaType: 'image/png',
      url: `data:image/png;base64,${data}`,
    }));
    expect(await post(server.url, 'pictures', files)).toEqual({ status: 200, texts: 'Seen.' });
  }
  await stop();
  server = await start(...place);
  const { url } = server;
  const statusOf = async (path: string, init?: RequestInit) => {
    const response = await fetch(url + path, init);
    await response.text();
    return response.status;
  };
  for (const id of ['pictures', 'old-pictures', 'text']) {
    const socket = new TestSocket(`${url.replace('http', 'ws')}/live?session=${id}&last=gone:1`);
    await socket.until((all) => all.some((one) => one.kind === 'chunk' && one.chunk.type === 'data-reset'));
    socket.socket.close();
    const watching = new AbortController();
    const watched = await fetch(`${url}/sessions/${id}/watch`, { signal: watching.signal });
    expect(watched.status).toBe(200);
    await watched.body?.getReader().read();
    watching.abort();
    expect(await statusOf('/sessions')).toBe(200);
    const page = await (await fetch(`${url}/sessions/${id}`)).json();
    expect(page.messages.length).toBeGreaterThan(0);
    if (page.older) expect(await statusOf(`/sessions/${id}?before=${page.older}`)).toBe(200);
    const files = [{ type: 'text', text: 'And now?' }];
    expect(await post(url, id, files)).toEqual({ status: 200, texts: 'Seen.' });
    expect(await statusOf(`/sessions/${id}/events`)).toBe(200);
    expect(await statusOf(`/approvals/${id}`)).toBe(200);
    const headers = { 'content-type': 'application/json' };
    const rename = { method: 'PATCH', headers, body: '{"title":"Long"}' };
    expect(await statusOf(`/sessions/${id}`, rename)).toBe(200);
  }
  await stop();
  server = await start(...place);
  for (const id of ['pictures', 'old-pictures', 'text']) {
    const removed = await fetch(`${server.url}/sessions/${id}`, { method: 'DELETE' });
    expect([id, removed.status]).toEqual([id, 204]);
  }
  expect(await (await fetch(`${server.url}/sessions`)).json()).toEqual({ sessions: [] });
  expect(server.child.exitCode).toBeNull();
}

/** Posts a message, and returns the text of the answer. */
async function post(url: string, id: string, parts: object[]): Promise<{ status: number; texts: string }> {
  const response = await fetch(`${url}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, messages: [{ role: 'user', parts }] }),
  });
  const decoder = new BlockDecoder();
  const blocks = [...decoder.push(await response.text()), ...decoder.end()];
  const chunks = blocks.flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data)]));
  const texts = chunks.flatMap(({ type, delta }) => (type === 'text-delta' ? [delta] : [])).join('');
  return { status: response.status, texts };
}
