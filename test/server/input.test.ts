import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Message, ProtocolError } from '../../src/protocol/index.ts';
import { serve } from '../../src/server/adapters/node.ts';
import { createMemoryStore, type DuologueOptions } from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { type Harness, harness, read, say } from '../support/harness.ts';
import { call, text } from '../support/scripted-model.ts';
import { fakeClock } from './support/clock.ts';
import { jpeg, png, webp } from './support/images.ts';

interface Wire {
  error: { code: string; message: string; retryable: boolean; retryAfterMs?: number };
}

const server = (options: Partial<DuologueOptions> = {}) =>
  harness(
    Array.from({ length: 50 }, () => [text('Ok.')]),
    [],
    { rateLimit: false, ...options },
  );

const user = (...parts: unknown[]) => ({ id: 'chat-1', messages: [{ id: 'u1', role: 'user', parts }] });
const image = (url: string, mediaType = 'image/png') => ({ type: 'file', mediaType, url });
const dataUrl = (bytes: Uint8Array, mediaType = 'image/png') =>
  `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`;

/** A PNG that says it has this size. */
function sized(width: number, height: number): Buffer {
  const bytes = Buffer.from(png);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

async function send(made: Harness, path: string, init: RequestInit): Promise<[number, Wire | null, Headers]> {
  const response = await made.duologue.fetch(new Request(`http://localhost${path}`, init));
  const body = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return [response.status, isJson ? (JSON.parse(body) as Wire) : null, response.headers];
}

const post = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

describe('bad input', () => {
  const table: [name: string, body: unknown, status: number, code: string][] = [
    ['[C14] malformed JSON', '{"id": ', 400, 'bad_json'],
    ['[C14] no body at all', '', 400, 'bad_json'],
    ['[C14] a body that is no object', '[1]', 400, 'bad_request'],
    ['[C14] a body that is null', 'null', 400, 'bad_request'],
    ['[C14] no messages', { id: 'chat-1' }, 400, 'bad_request'],
    ['[C14] an empty list of messages', { id: 'chat-1', messages: [] }, 400, 'bad_request'],
    ['[C14] messages that are no list', { id: 'chat-1', messages: 'hi' }, 400, 'bad_request'],
    ['[C14a] a last message that is no object', { id: 'chat-1', messages: ['hi'] }, 400, 'bad_request'],
    ['[C14a] a message without a role', { id: 'chat-1', messages: [{ parts: [] }] }, 400, 'bad_request'],
    [
      '[C14a] a message of the system',
      { id: 'chat-1', messages: [{ role: 'system', parts: [] }] },
      400,
      'bad_request',
    ],
    ['[C16b] an empty message', user(), 400, 'empty_message'],
    ['[C16b] a message of spaces', user({ type: 'text', text: '  \n' }), 400, 'empty_message'],
    ['[C16a] a part without a type', user({ text: 'hi' }), 400, 'bad_request'],
    ['[C16a] a text part without text', user({ type: 'text' }), 400, 'bad_request'],
    [
      '[C16a] parts that are no list',
      { id: 'chat-1', messages: [{ role: 'user', parts: 'hi' }] },
      400,
      'bad_request',
    ],
    [
      '[T14c] an assistant message that answers nothing',
      { id: 'chat-1', messages: [{ role: 'assistant', parts: [] }] },
      409,
      'nothing_to_answer',
    ],
    [
      '[T6d] a dynamic tool without a name',
      {
        id: 'chat-1',
        messages: [
          {
            role: 'assistant',
            parts: [{ type: 'dynamic-tool', toolCallId: 'c1', state: 'output-available', output: 1 }],
          },
        ],
      },
      400,
      'bad_request',
    ],
    [
      '[S11] an unknown trigger',
      { ...user({ type: 'text', text: 'hi' }), trigger: 'now' },
      400,
      'bad_request',
    ],
    [
      '[A1] a session id that is no text',
      { ...user({ type: 'text', text: 'hi' }), id: 7 },
      400,
      'bad_request',
    ],
    ['[A1c] half a character', { ...user({ type: 'text', text: 'hi' }), id: 'x\ud83d' }, 400, 'bad_request'],
    ['[A1c] the folder itself', { ...user({ type: 'text', text: 'hi' }), id: '.' }, 400, 'bad_request'],
    ['[A1c] the folder above', { ...user({ type: 'text', text: 'hi' }), id: '..' }, 400, 'bad_request'],
    ['[A1] an empty session id', { ...user({ type: 'text', text: 'hi' }), id: '' }, 400, 'bad_request'],
    [
      '[A1b] a session id that is too long',
      { ...user({ type: 'text', text: 'hi' }), id: 'x'.repeat(257) },
      400,
      'bad_request',
    ],
    [
      '[A1b] a message id that is too long',
      { id: 'c', messages: [{ id: 'x'.repeat(257), role: 'user', parts: [{ type: 'text', text: 'hi' }] }] },
      400,
      'bad_request',
    ],
    ['[A1] too much text', user({ type: 'text', text: 'x'.repeat(100_001) }), 413, 'too_large'],
    [
      '[A1a] an image of one by 20 million pixels',
      user(image(dataUrl(sized(1, 20_000_000)))),
      413,
      'too_large',
    ],
    ['[A1a] an image of 20 million by one', user(image(dataUrl(sized(20_000_000, 1)))), 413, 'too_large'],
    ['[A1a] an image of too many pixels', user(image(dataUrl(sized(10_001, 10_000)))), 413, 'too_large'],
    ['[A1] five images', user(...Array.from({ length: 5 }, () => image(dataUrl(png)))), 413, 'too_large'],
    [
      '[A1] an image of more than 5 MB',
      user(image(dataUrl(Buffer.concat([png, Buffer.alloc(5 * 1024 * 1024)])))),
      413,
      'too_large',
    ],
    ['[A3] an image that is none', user(image(dataUrl(Buffer.from('not an image')))), 422, 'bad_image'],
    ['[A3] an image that is not base64', user(image('data:image/png;base64,!!!!')), 422, 'bad_image'],
    [
      '[A3] an SVG',
      user(
        image(
          dataUrl(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'),
          'image/svg+xml',
        ),
      ),
      422,
      'bad_image',
    ],
    [
      '[A3] a file that is no image',
      user({ type: 'file', mediaType: 'application/pdf', url: 'data:application/pdf;base64,JVBERi0=' }),
      415,
      'unsupported_media',
    ],
    [
      '[A3] [C15c] a file by a foreign address',
      user(image('https://example.org/cat.png')),
      415,
      'unsupported_media',
    ],
    ['[A3] [C15c] a file by a local address', user(image('file:///etc/passwd')), 415, 'unsupported_media'],
    ['[A3] [C15c] a data URL that is not base64', user(image('data:image/png,abc')), 400, 'bad_request'],
  ];

  it.each(table)('%s gets its status and code, and leaves nothing behind', async (_, body, status, code) => {
    const made = server();
    const [got, wire, headers] = await send(made, '/stream', post(body));
    expect([got, wire]).toEqual([status, { error: { code, message: expect.any(String), retryable: false } }]);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await (await made.get('/sessions')).json()).toEqual({ sessions: [] });
    expect((await made.post(say('still there?'))).status).toBe(200);
    expect(made.model.requests).toHaveLength(1);
  });

  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON', 200],
    ['application/vnd.api+json', 200],
  ])('[A8] a body of type %s gets %i', async (type, status) => {
    const made = server();
    const [got] = await send(made, '/stream', {
      method: 'POST',
      headers: { 'content-type': type },
      body: JSON.stringify(say('hi')),
    });
    expect(got).toBe(status);
  });

  it.each([
    ['GET', '/stream', 'POST'],
    ['PUT', '/stream', 'POST'],
    ['POST', '/sessions', 'GET'],
    ['POST', '/sessions/x', 'GET, PATCH, DELETE'],
    ['GET', '/sessions/x/stop', 'POST'],
    ['DELETE', '/health', 'GET'],
    ['POST', '/approvals/x', 'GET'],
    ['POST', '/stream/x/stream', 'GET'],
    ['HEAD', '/sessions', 'GET'],
  ])('[A8a] %s %s is not allowed, and Allow says what is', async (method, path, allow) => {
    const [status, wire, headers] = await send(server(), path, { method });
    expect([status, headers.get('allow')]).toEqual([405, allow]);
    if (method !== 'HEAD') expect(wire?.error.code).toBe('method_not_allowed');
  });

  it('a path that is none of ours is none of ours', async () => {
    const made = server({ basePath: '/api/chat/' });
    for (const path of ['/stream', '/api/chatter/stream', '/api/chat/nothing', '/']) {
      expect(await made.duologue.respond(new Request(`http://localhost${path}`))).toBeNull();
    }
    expect((await made.get('/api/chat/health')).status).toBe(200);
    expect((await made.get('/api/chat/health?x=1')).status).toBe(200);
  });

  it('an address that cannot be decoded is a bad request', async () => {
    const [status, wire] = await send(server(), '/sessions/%E0%A4%A', {});
    expect([status, wire?.error.code]).toEqual([400, 'bad_request']);
  });

  it('[E3] a fault of the server tells nothing of itself', async () => {
    const store = createMemoryStore();
    store.listSessions = () => Promise.reject(new Error('secret path /var/lib'));
    const written: unknown[] = [];
    const logger = { info() {}, warn() {}, error: (...line: unknown[]) => void written.push(line) };
    const made = server({ store, logger });
    const [status, wire] = await send(made, '/sessions', {});
    expect([status, wire]).toEqual([
      500,
      {
        error: {
          code: 'internal',
          message: expect.any(String),
          retryable: true,
        },
      },
    ]);
    expect(JSON.stringify(written)).toContain('secret path');
  });

  it('[S7] a store that fails in mid-turn ends the response properly, and the session lives on', async () => {
    const store = createMemoryStore();
    const append = store.appendEvent.bind(store);
    let broken = false;
    store.appendEvent = (key, event) =>
      broken ? Promise.reject(new Error('disk full')) : append(key, event);
    const made = server({ store });
    await made.post(say('one'));
    broken = true;
    const failed = await made.post(say('two'));
    expect(failed.status).toBe(200);
    expect(failed.chunks.slice(-2)).toMatchObject([
      { type: 'error' },
      { type: 'finish', finishReason: 'error' },
    ]);
    expect(failed.dones).toBe(1);
    broken = false;
    const healed = await made.post(say('three'));
    expect(healed.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
  });
});

describe('input of many shapes', () => {
  it('[C14] old messages may be anything', async () => {
    const made = server();
    const posted = await made.post({
      id: 'chat-1',
      messages: [
        null,
        7,
        { role: 'wizard' },
        { role: 'user', parts: [{ nothing: true }] },
        ...user({ type: 'text', text: 'hi' }).messages,
      ],
    });
    expect(posted.status).toBe(200);
    expect(made.model.lastContents).toEqual([{ role: 'user', parts: [{ text: 'hi' }] }]);
  });

  it('[C16] unknown parts are passed over, content may be text, and a file needs no name', async () => {
    const made = server();
    await made.post(user({ type: 'step-start' }, { type: 'data-x', data: 1 }, { type: 'text', text: 'hi' }));
    expect(made.model.lastContents.at(-1)).toEqual({ role: 'user', parts: [{ text: 'hi' }] });
    await made.post({ id: 'chat-1', messages: [{ role: 'user', content: 'plain' }] });
    expect(made.model.lastContents.at(-1)).toEqual({ role: 'user', parts: [{ text: 'plain' }] });
    const posted = await made.post({
      id: 'chat-2',
      messages: [{ role: 'user', parts: [image(dataUrl(png))] }],
    });
    expect(posted.status).toBe(200);
  });

  it.each([
    ['image/png', png],
    ['image/jpeg', jpeg],
    ['image/webp', webp],
  ])(
    '[A3] %s is known by its bytes, reaches the model and is served from the session',
    async (mediaType, bytes) => {
      const made = server();
      const posted = await made.post({
        id: 'a/b c',
        messages: [
          {
            id: 'u1',
            role: 'user',
            parts: [
              { type: 'text', text: 'look' },
              { type: 'file', mediaType: 'image/png', filename: 'cat.png', url: dataUrl(bytes) },
            ],
          },
        ],
      });
      expect(posted.status).toBe(200);
      expect(decodeURIComponent(posted.headers.get('x-duologue-session') ?? '')).toBe('a/b c');
      const data = Buffer.from(bytes).toString('base64');
      expect(made.model.lastContents[0]?.parts?.[1]).toEqual({
        inlineData: { mimeType: mediaType, data, displayName: 'cat.png' },
      });
      const { messages } = await (await made.get(`/sessions/${encodeURIComponent('a/b c')}`)).json();
      const [, file] = (messages as Message[])[0]?.parts ?? [];
      if (file?.type !== 'file') throw new Error('no file');
      expect(file).toMatchObject({ mediaType, filename: 'cat.png' });
      expect(file.url).toMatch(/^http:\/\/localhost\/sessions\/a%2Fb%20c\/files\//);
      const served = await made.get(new URL(file.url).pathname);
      expect(Buffer.from(await served.arrayBuffer()).equals(Buffer.from(bytes))).toBe(true);
      expect(served.headers.get('content-type')).toBe(mediaType);
      expect(served.headers.get('x-content-type-options')).toBe('nosniff');
      // The same picture again, by its address.
      const again = await made.post({
        id: 'a/b c',
        messages: [{ id: 'u2', role: 'user', parts: [image(file.url)] }],
      });
      expect(again.status).toBe(200);
      expect(made.model.lastContents.at(-1)?.parts?.[0]).toEqual({
        inlineData: { mimeType: mediaType, data },
      });
      // But not in another session.
      const stolen = await made.post({
        id: 'other',
        messages: [{ id: 'u3', role: 'user', parts: [image(file.url)] }],
      });
      expect(stolen.status).toBe(415);
    },
  );

  it('[S12a] an image that the agent makes is streamed as it is and stored by its address', async () => {
    const data = Buffer.from(png).toString('base64');
    const made = harness([
      [{ content: { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data } }] } }],
    ]);
    const { chunks } = await made.post(say('draw'));
    expect(chunks[1]).toEqual({ type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${data}` });
    const { messages } = await (await made.get('/sessions/chat-1')).json();
    const { url } = messages[1].parts[0];
    expect(url).toMatch(/^http:\/\/localhost\/sessions\/chat-1\/files\//);
    const served = await made.get(new URL(url).pathname);
    expect(Buffer.from(await served.arrayBuffer()).equals(Buffer.from(png))).toBe(true);
  });
});

describe('sessions', () => {
  it('[S2a] [A4a] a post without an id gets a session of its own, and the header names it', async () => {
    const made = server();
    const { headers } = await made.post({ messages: user({ type: 'text', text: 'hi' }).messages });
    const id = decodeURIComponent(headers.get('x-duologue-session') ?? '');
    expect(id).toMatch(/^session_live_user_/);
    expect((await made.get(`/sessions/${id}`)).status).toBe(200);
  });

  it.each([
    ['300 characters', 'u'.repeat(300)],
    ['half a character', 'u\ud83d'],
    ['the other half', '\ude00'],
    ['a slash and a blank', 'a/b c'],
  ])('[S2b] a user whose name has %s goes on in a session of their own, and deletes it', async (_, name) => {
    const folder = mkdtempSync(join(tmpdir(), 'duologue-ids-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const store = await openSqliteStore(folder);
    for (const made of [server({ authenticate: () => name }), server({ authenticate: () => name, store })]) {
      const { messages } = user({ type: 'text', text: 'hi' });
      const first = await made.post({ messages });
      const id = decodeURIComponent(first.headers.get('x-duologue-session') ?? '');
      expect([first.status, id.startsWith('session_'), id.length <= 256]).toEqual([200, true, true]);
      expect((await made.post({ ...say('more'), id })).status).toBe(200);
      const path = `/sessions/${encodeURIComponent(id)}`;
      expect((await (await made.get(path)).json()).messages).toHaveLength(4);
      expect((await send(made, path, { method: 'DELETE' }))[0]).toBe(204);
      await made.duologue.close();
    }
  });

  it('[S2b] users whose names do not fit into an id have different ids', async () => {
    const ids = new Set<string>();
    for (const name of ['u\ud83d', 'u\ud83e', 'u'.repeat(300), 'u'.repeat(301)]) {
      const made = server({ authenticate: () => name, newId: () => 'same' });
      const { headers } = await made.post({ messages: user({ type: 'text', text: 'hi' }).messages });
      ids.add(headers.get('x-duologue-session') ?? '');
    }
    expect([ids.size, [...ids].every((id) => /^session_[\w-]{43}_same$/.test(id))]).toEqual([4, true]);
  });

  it('[S2] chatId names the session as well', async () => {
    const made = server();
    await made.post({ chatId: 'mine', messages: user({ type: 'text', text: 'hi' }).messages });
    expect((await made.get('/sessions/mine')).status).toBe(200);
  });

  it('[S1a] the headers are those of a UI message stream', async () => {
    const made = server();
    const { headers, dones, ids } = await made.post(say('hi'));
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
    expect(headers.get('x-accel-buffering')).toBe('no');
    expect(dones).toBe(1);
    expect(ids.every((id) => /^.+-\d+$/.test(id ?? ''))).toBe(true);
  });

  it('are listed with the last used first, renamed, and deleted', async () => {
    const clock = fakeClock();
    const made = server({ clock });
    await made.post(say('one', 'a'));
    clock.pass(10);
    await made.post(say('two', 'b'));
    const listed = await (await made.get('/sessions')).json();
    expect(listed.sessions.map(({ id }: { id: string }) => id)).toEqual(['b', 'a']);
    const patch = (title: unknown) =>
      send(made, '/sessions/a', { ...post({ title }), method: 'PATCH' }).then(([status]) => status);
    expect(await patch('A title')).toBe(200);
    expect(await patch(null)).toBe(200);
    for (const bad of ['', '   ', 7, 'x'.repeat(201), undefined]) expect(await patch(bad)).toBe(400);
    expect((await send(made, '/sessions/a', { method: 'DELETE' }))[0]).toBe(204);
    expect((await send(made, '/sessions/a', { method: 'DELETE' }))[0]).toBe(404);
    expect((await made.get('/sessions/a')).status).toBe(404);
    const after = await (await made.get('/sessions')).json();
    expect(after.sessions.map(({ id }: { id: string }) => id)).toEqual(['b']);
  });

  it('[S14] a deleted session begins anew under its id', async () => {
    const made = server();
    await made.post(say('one'));
    await send(made, '/sessions/chat-1', { method: 'DELETE' });
    await made.post(say('two'));
    expect(made.model.lastContents).toEqual([{ role: 'user', parts: [{ text: 'two' }] }]);
  });

  it('[S4] a continuation repeats the id of its message and begins no other', async () => {
    const log: string[] = [];
    const made = harness(
      [[call('process_payment', { amount: 1, recipient: 'A' })], [text('Ok')]],
      [fourTools(log).payment],
    );
    const first = await made.post(say('pay'));
    const { answers, approve } = await import('./support/answers.ts');
    const second = await answers(made, first, approve());
    expect(second.chunks[0]).toEqual({
      type: 'start',
      messageId: (first.chunks[0] as { messageId: string }).messageId,
    });
    expect(second.dones).toBe(1);
  });

  it('[T20] a client tool with an optimistic output goes on at once', async () => {
    const made = harness(
      [[call('change_bgm', { track: 2 })], [text('Changed.')]],
      [fourTools().optimisticMusic],
    );
    const posted = await made.post(say('music'));
    expect(posted.chunks[2]).toMatchObject({
      type: 'tool-input-available',
      toolMetadata: { runsOn: 'client', asks: false, optimistic: true },
    });
    expect(posted.chunks[3]).toMatchObject({
      type: 'tool-output-available',
      output: { success: true, track: 2 },
    });
    expect(posted.chunks.at(-1)).toMatchObject({ finishReason: 'stop' });
  });
});

describe('limits', () => {
  it('[A7] [E2a] a user who asks too often is told how long to wait; others are not held up', async () => {
    const clock = fakeClock();
    const authenticate = (request: Request) => request.headers.get('x-user');
    const made = server({ clock, authenticate, rateLimit: { burst: 3, perMinute: 60 } });
    const ask = (name: string, n: number) => made.post(say(`q${n}`, `${name}-${n}`), { 'x-user': name });
    for (let n = 0; n < 3; n++) expect((await ask('alice', n)).status).toBe(200);
    const refused = await ask('alice', 3);
    expect([refused.status, refused.headers.get('retry-after'), refused.json]).toEqual([
      429,
      '1',
      { error: { code: 'rate_limited', message: expect.any(String), retryable: true, retryAfterMs: 1000 } },
    ]);
    expect((await ask('bob', 0)).status).toBe(200);
    clock.pass(1000);
    expect((await ask('alice', 4)).status).toBe(200);
    expect((await ask('alice', 5)).status).toBe(429);
    // Reading is not limited.
    expect((await made.get('/sessions', { 'x-user': 'alice' })).status).toBe(200);
  });

  it('[A7c] a clock that is set back an hour lets nobody wait longer', async () => {
    const clock = fakeClock();
    const made = server({ clock, rateLimit: { burst: 1, perMinute: 60 } });
    expect((await made.post(say('q1'))).status).toBe(200);
    clock.setBack(60 * 60_000);
    const refused = await made.post(say('q2'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    clock.pass(1000);
    expect((await made.post(say('q3'))).status).toBe(200);
  });

  it('[A7] 60 at once by default', async () => {
    const clock = fakeClock();
    const made = harness([], [], { clock });
    const statuses: number[] = [];
    for (let n = 0; n < 61; n++) statuses.push((await send(made, '/stream', post('{}')))[0]);
    expect(statuses).toEqual([...Array.from({ length: 60 }, () => 400), 429]);
  });

  it('[A7] [A7a] stop, floor and sign-ins count as messages do, and confirmations and watching as reads do', async () => {
    const limit = { burst: 3, perMinute: 60 };
    const made = harness([], [], { clock: fakeClock(), rateLimit: limit, readLimit: limit });
    const isRefused = async (path: string) => (await send(made, path, post('{}')))[0] === 429;
    const posts = ['/sessions/a/stop', '/sessions/a/floor', '/sign-in/callback', '/stream'];
    const reads = ['/stream/a/received', '/stream/a/settled', '/stream/a/received', '/sessions/a/watch'];
    const refused: boolean[] = [];
    for (const path of [...posts, ...reads]) refused.push(await isRefused(path));
    expect(refused).toEqual([false, false, false, true, false, false, false, true]);
  });

  it('[A9a] [E2a] a user who begins too many sessions is told how long to wait; those there are go on', async () => {
    const clock = fakeClock();
    const authenticate = (request: Request) => request.headers.get('x-user');
    const made = server({ clock, authenticate, newSessions: { burst: 2, perMinute: 60 } });
    const ask = (name: string, session: string, text = 'hi') =>
      made.post(say(text, session), { 'x-user': name });
    expect((await ask('alice', 'one')).status).toBe(200);
    expect((await ask('alice', 'two')).status).toBe(200);
    const refused = await ask('alice', 'three');
    expect([refused.status, refused.headers.get('retry-after'), refused.json]).toEqual([
      429,
      '1',
      {
        error: {
          code: 'rate_limited',
          message: expect.any(String),
          retryable: true,
          retryAfterMs: 1000,
        },
      },
    ]);
    expect((await made.get('/sessions/three', { 'x-user': 'alice' })).status).toBe(404);
    expect((await ask('alice', 'two', 'and?')).status).toBe(200);
    expect((await ask('bob', 'one')).status).toBe(200);
    clock.pass(1000);
    expect((await ask('alice', 'three')).status).toBe(200);
  });

  it('[A9a] 120 new sessions at once by default, and none is counted where requests are not', async () => {
    const clock = fakeClock();
    const begun = async (options: Partial<DuologueOptions>) => {
      const made = harness([], [], { clock, ...options });
      const connect = (n: number) => new Request(`http://localhost/live?session=s${n}`);
      for (let n = 0; n < 130; n++) {
        try {
          (await made.duologue.sockets.admit(connect(n))).drop();
        } catch (error) {
          return [n, (error as ProtocolError).code];
        }
      }
      return 'all';
    };
    expect(await begun({})).toEqual([120, 'rate_limited']);
    expect(await begun({ rateLimit: false })).toBe('all');
  });

  it('[A1] limits are options: the text of a message, its files, ids and the body', async () => {
    const limits = { textLength: 3, files: 1, idLength: 8, bodyBytes: 1024 * 1024, imageBytes: 30 };
    const made = server({ limits });
    const codes = [
      user({ type: 'text', text: 'long' }),
      user(image(dataUrl(jpeg)), image(dataUrl(jpeg))),
      user(image(dataUrl(png))),
      { ...user({ type: 'text', text: 'hi' }), id: 'much-too-long' },
      ' '.repeat(1024 * 1024 + 1),
    ].map(async (body) => (await send(made, '/stream', post(body)))[1]?.error.code);
    expect(await Promise.all(codes)).toEqual([
      'too_large',
      'too_large',
      'too_large',
      'bad_request',
      'too_large',
    ]);
  });

  it('[A2] a body that says it is too large is not read', async () => {
    const made = server();
    const { port } = await listening(made);
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${25 * 1024 * 1024}\r\n\r\n{`,
    );
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toContain('413');
    expect(String(answer)).toContain('"too_large"');
    socket.destroy();
    expect((await made.post(say('hi'))).status).toBe(200);
  });

  it('[A2] a body that grows too large is not read to its end', async () => {
    const made = server();
    const { port } = await listening(made);
    const socket = connect(port, '127.0.0.1');
    const answer = once(socket, 'data');
    socket.on('error', () => undefined);
    socket.write(
      'POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const mebibyte = `100000\r\n${' '.repeat(0x100000)}\r\n`;
    for (let n = 0; n < 26 && !socket.destroyed; n++) {
      if (!socket.write(mebibyte)) await Promise.race([once(socket, 'drain'), answer]);
    }
    expect(String((await answer)[0])).toContain('"too_large"');
    socket.destroy();
  });

  it('[E4] clients that send half a request and go away leave nothing behind', async () => {
    const made = server();
    const { port } = await listening(made);
    for (const half of [
      'POST /stream HTTP/1.1\r\nHost: loc',
      'POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"id": "chat-1", "messa',
      'GET / HTTP/9.9\r\n\r\n',
      '\0\0\0\0',
    ]) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.resume();
      socket.end(half);
      await once(socket, 'close');
    }
    expect(await (await fetch(`http://127.0.0.1:${port}/sessions`)).json()).toEqual({ sessions: [] });
    const posted = await read(await fetch(`http://127.0.0.1:${port}/stream`, post(say('hi')) as RequestInit));
    expect(posted.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
  });
});

async function listening({ duologue }: Harness) {
  const served = await serve(duologue, { port: 0, host: '127.0.0.1' });
  onTestFinished(() => served.close());
  return served;
}
