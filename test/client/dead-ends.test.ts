import { describe, expect, test } from 'vitest';
import {
  DuologueHttp,
  DuologueSseTransport,
  DuologueTransport,
  type WebSocketLike,
} from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { newestSdk } from '../support/sdks.ts';
import { chatOf } from './support/chat.ts';
import { FakeServer, type FakeSocket } from './support/server.ts';
import { FakeNetwork, FakeTimers } from './support/time.ts';

const json = (status: number, code: string, message = code) =>
  Response.json({ error: { code, message, retryable: false } }, { status });
const html = (status: number) =>
  new Response('<!doctype html><h1>Hello</h1>', { status, headers: { 'content-type': 'text/html' } });

const NO_SERVER = (answer: string) =>
  `There is no Duologue server at http://localhost:1/base: it answered ${answer}. Check the "url" of the transport and where the server is mounted.`;
const NO_SOCKET =
  'The server at http://localhost:1/base answers, but no WebSocket to it can be opened. Let every proxy pass on "Upgrade" and open sockets on the server ("serve" or "attachWebSocket"), or use SSE.';

/** What every request is answered with, and what the person reads; null: the client tries on. */
const causes: [string, () => Response, string | null][] = [
  ['signed out', () => json(401, 'unauthorized', 'A key is needed.'), 'A key is needed.'],
  ['signed out at a proxy', () => html(401), 'You are not signed in.'],
  ['not allowed', () => json(403, 'forbidden', 'Not from here.'), 'Not from here.'],
  ['not allowed by a proxy', () => html(403), 'You may not use this server: it answered with status 403.'],
  ['wrong mount', () => html(404), NO_SERVER('404 (text/html)')],
  ['a page in place of a stream', () => html(200), NO_SERVER('200 (text/html)')],
  ['a server of something else', () => Response.json({ hello: 1 }), NO_SERVER('200 (application/json)')],
  ['a proxy without a server behind it', () => html(502), null],
  ['a server that is starting', () => json(503, 'shutting_down'), null],
  ['too many requests', () => json(429, 'rate_limited'), null],
  [
    'no network',
    () => {
      throw new TypeError('Failed to fetch');
    },
    null,
  ],
];

/** A chat over a network on which every request is answered alike and every WebSocket is refused. */
function page(transportName: 'WebSocket' | 'SSE', answer: (url: string) => Response, key?: () => string) {
  const timers = new FakeTimers();
  const sockets = new FakeServer();
  sockets.accepts = false;
  class Refused extends (sockets.WebSocket as new (url: string, protocols: string[]) => FakeSocket) {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      queueMicrotask(() => this.end(1006));
    }
  }
  const asked: string[] = [];
  const options = {
    url: 'http://localhost:1/base',
    timers,
    network: new FakeNetwork(),
    key,
    fetch: async (url: unknown) => {
      asked.push(String(url));
      return answer(String(url));
    },
  };
  const transport =
    transportName === 'SSE'
      ? new DuologueSseTransport<Message>(options)
      : new DuologueTransport<Message>({
          ...options,
          WebSocket: Refused as new (url: string, protocols: string[]) => WebSocketLike,
        });
  const chat = chatOf(newestSdk, { id: 'chat-1', transport });
  return { timers, transport, chat, sockets, asked };
}

describe.each(['WebSocket', 'SSE'] as const)('over %s', (name) => {
  test.each(causes)(
    '[E9] [E9a] %s: one sentence within five seconds, or further tries',
    async (_cause, answer, says) => {
      const { timers, transport, chat, asked, sockets } = page(name, answer);
      void chat.sendMessage({ text: 'hi' });
      for (let second = 0; second < 5; second++) await timers.settle(1000);
      if (says === null) {
        expect([chat.status, transport.connection.state.status]).toEqual(['submitted', 'reconnecting']);
        return transport.close();
      }
      expect([chat.status, chat.error?.message]).toEqual(['error', says]);
      expect(transport.connection.state.status).toBe('closed');
      const tries = asked.length + sockets.sockets.length;
      await timers.settle(120_000);
      expect([asked.length + sockets.sockets.length, timers.pending]).toEqual([tries, 0]);
    },
  );

  test('[E10] a cause that was only there for a moment ends nothing', async () => {
    const answers = [html(404), html(502), html(404), html(502)];
    const { timers, transport } = page(name, () => answers.shift() ?? html(502));
    transport.connect('chat-1');
    for (let second = 0; second < 5; second++) await timers.settle(1000);
    expect(transport.connection.state.status).toBe('reconnecting');
    transport.close();
  });
});

test.each([404, 426])(
  '[E10] a connection that was live comes back after a proxy answered %s for a minute',
  async (status) => {
    const timers = new FakeTimers();
    const server = new FakeServer();
    const transport = new DuologueTransport<Message>({
      url: 'http://localhost:1/base',
      timers,
      network: new FakeNetwork(),
      fetch: async () => (status === 426 ? json(426, 'upgrade_required') : html(404)),
      WebSocket: server.WebSocket as new (url: string, protocols: string[]) => WebSocketLike,
    });
    transport.connect('chat-1');
    await timers.settle(100);
    expect(transport.connection.state.status).toBe('live');
    server.accepts = false;
    server.sockets.at(-1)?.end(1006);
    for (let second = 0; second < 60; second++) {
      await timers.settle(1000);
      server.sockets.at(-1)?.end(1006);
    }
    expect(transport.connection.state.status).not.toBe('closed');
    server.accepts = true;
    for (let second = 0; second < 60; second++) await timers.settle(1000);
    expect(transport.connection.state.status).toBe('live');
    transport.close();
  },
);

test('over WebSocket: a proxy or server that opens no sockets is named as the cause', async () => {
  const { timers, chat } = page('WebSocket', () => json(426, 'upgrade_required'));
  void chat.sendMessage({ text: 'hi' });
  for (let second = 0; second < 5; second++) await timers.settle(1000);
  expect([chat.status, chat.error?.message]).toEqual(['error', NO_SOCKET]);
});

test('[E9] over WebSocket: a handshake that is never answered where no Duologue server is mounted gets the cause too', async () => {
  const timers = new FakeTimers();
  const silent = new FakeServer();
  silent.accepts = false;
  const transport = new DuologueTransport<Message>({
    url: 'http://localhost:1/base',
    timers,
    network: new FakeNetwork(),
    fetch: async () => html(404),
    WebSocket: silent.WebSocket as new (url: string, protocols: string[]) => WebSocketLike,
  });
  const chat = chatOf(newestSdk, { id: 'chat-1', transport });
  void chat.sendMessage({ text: 'hi' });
  for (let second = 0; second < 25; second++) await timers.settle(1000);
  expect([chat.status, chat.error?.message]).toEqual(['error', NO_SERVER('404 (text/html)')]);
});

test('[E10] over SSE: a server that answers questions for a WebSocket is there, and is tried on', async () => {
  const { timers, transport } = page('SSE', (url) =>
    url.endsWith('/live') ? json(426, 'upgrade_required') : html(404),
  );
  transport.connect('chat-1');
  for (let second = 0; second < 10; second++) await timers.settle(1000);
  expect(transport.connection.state.status).toBe('reconnecting');
  transport.close();
});

test('[E10] a server that is too slow to greet is tried again, though it answers plain requests', async () => {
  const timers = new FakeTimers();
  const server = new FakeServer();
  server.accepts = false;
  const transport = new DuologueTransport<Message>({
    url: 'http://localhost:1/base',
    timers,
    network: new FakeNetwork(),
    fetch: async () => json(426, 'upgrade_required'),
    WebSocket: server.WebSocket as new (url: string, protocols: string[]) => WebSocketLike,
  });
  transport.connect('chat-1');
  for (let second = 0; second < 60; second++) await timers.settle(1000);
  expect(transport.connection.state.status).not.toBe('closed');
  server.accepts = true;
  for (let second = 0; second < 60; second++) await timers.settle(1000);
  expect(transport.connection.state.status).toBe('live');
  transport.close();
});

test('a request that does not end is not waited for', async () => {
  const { timers, transport } = page('WebSocket', () => new Promise<Response>(() => undefined) as never);
  transport.connect('chat-1');
  await timers.settle(4_100);
  expect(transport.connection.state.status).toBe('reconnecting');
  transport.close();
});

describe('a key that is a function', () => {
  test('[A12] is called for every connection, and once more after 401', async () => {
    let count = 0;
    const { timers, chat, sockets } = page(
      'WebSocket',
      () => json(401, 'unauthorized', 'Signed out.'),
      () => `key-${++count}`,
    );
    void chat.sendMessage({ text: 'hi' });
    for (let second = 0; second < 5; second++) await timers.settle(1000);
    expect([chat.status, chat.error?.message]).toEqual(['error', 'Signed out.']);
    const keys = sockets.sockets.map(({ protocols }) =>
      atob(String(protocols.at(-1)?.slice('duologue.key.'.length))),
    );
    // Between the two, the question why the first was refused needed keys as well.
    expect(keys).toEqual(['key-1', 'key-4']);
  });

  test('[A12] is called for every request, and once more after 401', async () => {
    const seen: (string | null)[] = [];
    let count = 0;
    const http = new DuologueHttp({
      url: '/base',
      key: async () => `key-${++count}`,
      fetch: async (_url, init) => {
        seen.push(new Headers(init?.headers).get('authorization'));
        return seen.length === 1 ? json(401, 'unauthorized') : Response.json({ sessions: [] });
      },
    });
    await http.listSessions();
    await http.listSessions();
    expect(seen).toEqual(['Bearer key-1', 'Bearer key-2', 'Bearer key-3']);
  });

  test('that fails ends the tries in its own words, unless the network is down', async () => {
    const signedOut = page(
      'WebSocket',
      () => html(502),
      () => {
        throw new Error('Your session has expired.');
      },
    );
    void signedOut.chat.sendMessage({ text: 'hi' });
    await signedOut.timers.settle(1000);
    expect(signedOut.chat.error?.message).toBe('Your session has expired.');
    const offline = page(
      'WebSocket',
      () => html(502),
      () => {
        throw new TypeError('Failed to fetch');
      },
    );
    offline.transport.connect('chat-1');
    await offline.timers.settle(1000);
    expect(offline.transport.connection.state.status).toBe('reconnecting');
    offline.transport.close();
  });
});
