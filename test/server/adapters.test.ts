import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { LlmAgent } from '@google/adk';
import { serve as serveHono } from '@hono/node-server';
import * as ai from 'ai';
import express from 'express';
import { Hono } from 'hono';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { defineTool } from '../../src/adk/index.ts';
import { DuologueSseTransport, DuologueTransport } from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { type BunServer, duologueBun } from '../../src/server/adapters/bun.ts';
import { duologueDeno } from '../../src/server/adapters/deno.ts';
import { duologueExpress } from '../../src/server/adapters/express.ts';
import { duologueHono } from '../../src/server/adapters/hono.ts';
import { duologueNext } from '../../src/server/adapters/next.ts';
import { nodeListener, type ServeOptions, serve } from '../../src/server/adapters/node.ts';
import { ResponseReader, streamReply } from '../../src/server/http/reply.ts';
import { createDuologue, type Duologue, type DuologueOptions } from '../../src/server/index.ts';
import { ChunkLog } from '../../src/server/log/log.ts';
import { BatchTimer, Heartbeat } from '../../src/server/output/pace.ts';
import { chatOf } from '../client/support/chat.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness, read, say, shape } from '../support/harness.ts';
import { call, partial, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';
import { answerBody, approve } from './support/answers.ts';
import { fakeClock } from './support/clock.ts';
import { latch, listen } from './support/listen.ts';
import { turns } from './support/turns.ts';

interface Opened {
  /** Where the server's paths begin. */
  base: string;
  close(): Promise<void>;
}

interface Adapter {
  name: string;
  basePath: string;
  /** Something else that the application serves, and what it says. */
  other: { path: string; says: string };
  open(duologue: Duologue): Promise<Opened>;
}

async function listenOn(
  server: ReturnType<typeof createServer>,
): Promise<{ port: number; close(): Promise<void> }> {
  // A test that stands still for some seconds does not find its connection just being closed.
  server.keepAliveTimeout = 75_000;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function expressAdapter(name: string, parsers: ReturnType<typeof express.json>[]): Adapter {
  return {
    name,
    basePath: '/api/chat',
    other: { path: '/api/chat/other', says: 'other' },
    async open(duologue) {
      const app = express();
      for (const parser of parsers) app.use(parser);
      app.use('/api/chat', duologueExpress(duologue));
      app.get('/api/chat/other', (_request, response) => void response.send('other'));
      const { port, close } = await listenOn(createServer(app));
      return { base: `http://127.0.0.1:${port}/api/chat`, close };
    },
  };
}

const adapters: Adapter[] = [
  {
    name: 'serve',
    basePath: '',
    other: { path: '/other', says: 'other' },
    async open(duologue) {
      const served = await serve(duologue, {
        port: 0,
        host: '127.0.0.1',
        fallback: (_request, response) => void response.end('other'),
      });
      return { base: served.url, close: () => served.close() };
    },
  },
  {
    name: 'a listener of node:http',
    basePath: '/deep/down',
    other: { path: '/deep/down/other', says: 'There is no Duologue server at this path.' },
    async open(duologue) {
      const { port, close } = await listenOn(createServer(nodeListener(duologue)));
      return { base: `http://127.0.0.1:${port}/deep/down`, close };
    },
  },
  {
    name: 'Hono',
    basePath: '/api',
    other: { path: '/api/other', says: 'other' },
    async open(duologue) {
      const app = new Hono();
      app.use(duologueHono(duologue));
      app.get('/api/other', (context) => context.text('other'));
      const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
      await turns(() => server.address() !== null);
      const { port } = server.address() as AddressInfo;
      return {
        base: `http://127.0.0.1:${port}/api`,
        close: () =>
          new Promise((resolve) => {
            server.close(() => resolve());
            if ('closeAllConnections' in server) server.closeAllConnections();
          }),
      };
    },
  },
  expressAdapter('Express', []),
  expressAdapter('Express with its JSON parser', [express.json({ limit: '24mb' })]),
  {
    name: 'Next.js route handlers',
    basePath: '/api/chat',
    other: { path: '/api/chat/other', says: 'Not found' },
    async open(duologue) {
      const handlers = duologueNext(duologue);
      // Next.js calls the export that has the name of the method, with a web request.
      const app = new Hono();
      app.all('/api/chat/*', async (context): Promise<Response> => {
        const handler = handlers[context.req.method as keyof typeof handlers];
        return handler ? handler(context.req.raw) : new Response(null, { status: 405 });
      });
      const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
      await turns(() => server.address() !== null);
      const { port } = server.address() as AddressInfo;
      return {
        base: `http://127.0.0.1:${port}/api/chat`,
        close: () =>
          new Promise((resolve) => {
            server.close(() => resolve());
            if ('closeAllConnections' in server) server.closeAllConnections();
          }),
      };
    },
  },
];

const json = (body: unknown, method = 'POST'): RequestInit => ({
  method,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

describe.each(adapters)('the door of $name', (adapter) => {
  async function opened(
    script: readonly ScriptedTurn[],
    tools: Parameters<typeof harness>[1] = [],
    options: Parameters<typeof harness>[2] = {},
  ) {
    const made = harness(script, tools, { basePath: adapter.basePath, rateLimit: false, ...options });
    const { base, close } = await adapter.open(made.duologue);
    onTestFinished(close);
    return { ...made, base, send: (path: string, init?: RequestInit) => fetch(base + path, init) };
  }

  it('[S3] streams while the model still writes', async () => {
    const go = latch();
    const { send } = await opened([
      async function* () {
        yield partial('One ');
        await go.opened;
        yield partial('two.');
        yield text('One two.');
      },
    ]);
    const response = await send('/stream', json(say('count')));
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
    const heard = listen(response);
    await heard.until((chunks) => chunks.some(({ type }) => type === 'text-delta'));
    expect(heard.isDone()).toBe(false);
    go.open();
    await heard.end();
    expect(shape(heard.chunks)).toEqual(['start', 'text-start', 'text-delta', 'text-end', 'finish']);
    expect(heard.isDone()).toBe(true);
  });

  it('[S6] carries an approval over two responses', async () => {
    const log: string[] = [];
    const { send } = await opened(
      [[call('process_payment', { amount: 1, recipient: '花子' })], [text('払いました')]],
      [fourTools(log).payment],
    );
    const first = await read(await send('/stream', json(say('払って'))));
    expect(shape(first.chunks)).toContain('tool-approval-request');
    const second = await read(await send('/stream', json(answerBody(first, [approve()]))));
    expect(second.chunks.find(({ type }) => type === 'text-delta')).toMatchObject({ delta: '払いました' });
    expect(log).toEqual(['pay 花子 1']);
    const session = await (await send('/sessions/chat-1')).json();
    expect(session.messages).toHaveLength(2);
    expect((await (await send('/approvals/chat-1')).text()).trim().split('\n')).toHaveLength(3);
  });

  it('serves the other routes with their statuses', async () => {
    const { send } = await opened([[text('Hi.')]]);
    await (await send('/stream', json(say('hi')))).text();
    expect((await send('/health')).status).toBe(200);
    expect((await (await send('/sessions')).json()).sessions).toHaveLength(1);
    expect((await send('/sessions/chat-1', json({ title: 'T' }, 'PATCH'))).status).toBe(200);
    expect((await send('/stream/chat-1/stream')).status).toBe(204);
    expect(await (await send('/sessions/chat-1/stop', { method: 'POST' })).json()).toEqual({
      stopped: false,
    });
    expect((await send('/sessions/chat-1', { method: 'DELETE' })).status).toBe(204);
    const gone = await send('/sessions/chat-1');
    expect([gone.status, (await gone.json()).error.code]).toEqual([404, 'not_found']);
    const foreign = await send('/sessions', { headers: { origin: 'https://evil.example' } });
    expect(foreign.status).toBe(403);
    const wrong = await send('/stream', {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'x',
    });
    expect(wrong.status).toBe(415);
  });

  it('leaves alone what is not the server’s', async () => {
    const { base, send } = await opened([]);
    const { pathname } = new URL(base);
    const path = adapter.other.path.slice(pathname === '/' ? 0 : pathname.length);
    expect(await (await send(path)).text()).toContain(adapter.other.says);
  });

  it('[S8] a client that goes away stops nothing and holds nothing', async () => {
    const go = latch();
    const { send, duologue, base } = await opened([
      async function* () {
        yield partial('One ');
        await go.opened;
        yield text('One two.');
      },
    ]);
    const heard = listen(await send('/stream', json(say('count'))));
    await heard.until((chunks) => chunks.some(({ type }) => type === 'text-delta'));
    await heard.leave();
    go.open();
    let session = { isRunning: true, messages: [] as { parts: unknown[] }[] };
    while (session.isRunning) {
      session = await (await duologue.fetch(new Request(`${base}/sessions/chat-1`))).json();
    }
    expect(session.messages[1]?.parts).toEqual([{ type: 'text', text: 'One two.', state: 'done' }]);
  });

  it('[S10] a client that goes away while it waits for its turn leaves no reader behind', async () => {
    const go = latch();
    const { base, duologue } = await opened([
      async function* () {
        yield partial('One ');
        await go.opened;
        yield text('One two.');
      },
      [text('Second.')],
      [text('Third.')],
    ]);
    const first = listen(await fetch(`${base}/stream`, json(say('first'))));
    await first.until((chunks) => chunks.length > 2);
    const waiting = httpRequest(`${base}/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    waiting.on('error', () => undefined);
    waiting.end(JSON.stringify(say('second')));
    await new Promise<void>((resolve) => waiting.once('finish', resolve));
    await settled();
    waiting.destroy();
    go.open();
    await first.end();
    const third = await read(await fetch(`${base}/stream`, json(say('third'))));
    expect(third.status).toBe(200);
    const { messages } = await (await duologue.fetch(new Request(`${base}/sessions/chat-1`))).json();
    expect(messages.at(-1).parts[0].text).toMatch(/Second|Third/);
  });

  it('lets the application look at a body before it says whose the request is', async () => {
    const seen: string[] = [];
    const authenticate = async (request: Request) => {
      if (request.method === 'POST') seen.push(await request.clone().text());
      return { user: 'ann' };
    };
    const { send } = await opened([[text('Hello.')]], [], { authenticate });
    const body = say('hi');
    expect(await (await send('/stream', json(body))).text()).toContain('Hello.');
    expect(seen.map((one) => JSON.parse(one) as unknown)).toEqual([body]);
  });

  it('a body that breaks off begins nothing', async () => {
    const { base, send, model } = await opened([[text('Hello.')]]);
    const { port, pathname } = new URL(`${base}/stream`);
    const body = JSON.stringify(say('hi'));
    const socket = connect(Number(port), '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined).resume();
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.end(body.slice(0, -5));
    await closed;
    expect(await (await send('/stream', json(say('hi')))).text()).toContain('Hello.');
    expect(model.requests).toHaveLength(1);
  });

  it('[A2] takes a body of several megabytes and refuses one that is too large', async () => {
    const { send } = await opened([[text('Nice.')], [text('Nice.')]]);
    const large = { ...say('hi'), padding: 'x'.repeat(8 * 1024 * 1024) };
    expect((await send('/stream', json(large))).status).toBe(200);
    const tooLarge = { ...say('hi'), padding: 'x'.repeat(25 * 1024 * 1024) };
    const outcome = await send('/stream', json(tooLarge)).then(
      ({ status }) => status,
      () => 'cut off',
    );
    expect([413, 'cut off']).toContain(outcome);
    expect((await send('/health')).status).toBe(200);
  });
});

describe('a listener of node:http', () => {
  it('sends the headers at once when nothing that was said is for this client', async () => {
    const clock = fakeClock();
    const pacing = { window: new BatchTimer(clock, 12), keepAlive: new Heartbeat(clock, 15_000) };
    const log = new ChunkLog('e');
    log.append({ type: 'finish-step' });
    const nothing = () => undefined;
    const feed = { log, isAtRest: false, onRest: () => nothing, attach: () => nothing, readerMoved: nothing };
    const handle = async () => streamReply(new ResponseReader({ feed, from: 0 }, pacing), 's');
    const { port, close } = await listenOn(createServer(nodeListener({ handle })));
    onTestFinished(close);
    const response = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(30_000) });
    log.append(null);
    expect(await response.text()).toBe('data: [DONE]\n\n');
  });

  it('reads the body of a request that someone paused', async () => {
    const listener = nodeListener(harness([[text('Hello.')]]).duologue);
    const paused = createServer((request, response) => listener(request.pause(), response));
    const { port, close } = await listenOn(paused);
    onTestFinished(close);
    const signal = AbortSignal.timeout(30_000);
    const response = await fetch(`http://127.0.0.1:${port}/stream`, { ...json(say('hi')), signal });
    expect(await response.text()).toContain('Hello.');
  });

  it('gives the application a body in every form', async () => {
    const forms: Record<string, (request: Request) => Promise<unknown>> = {
      text: (request) => request.text(),
      json: async (request) => JSON.stringify(await request.json()),
      bytes: async (request) => new TextDecoder().decode(await request.bytes()),
      arrayBuffer: async (request) => new TextDecoder().decode(await request.arrayBuffer()),
      blob: async (request) => (await request.blob()).text(),
      body: (request) => new Response(request.body).text(),
      clone: (request) => request.clone().text(),
    };
    const seen: Record<string, unknown> = {};
    const authenticate = async (request: Request) => {
      const form = new URL(request.url).searchParams.get('form') ?? '';
      seen[form] = await forms[form]?.(request);
      return { user: 'ann' };
    };
    const made = harness([], [], { authenticate, rateLimit: false });
    const { port, close } = await listenOn(createServer(nodeListener(made.duologue)));
    onTestFinished(close);
    for (const form of Object.keys(forms)) {
      await fetch(`http://127.0.0.1:${port}/sessions/none/stop?form=${form}`, json({ form }));
    }
    expect(seen).toEqual(Object.fromEntries(Object.keys(forms).map((form) => [form, `{"form":"${form}"}`])));
  });
});

describe('serve', () => {
  it('ends what runs when it is closed, and the port is free', async () => {
    const started = latch();
    const slow = defineTool({
      name: 'slow',
      description: 'd',
      execute: () => {
        started.open();
        return new Promise(() => undefined);
      },
    });
    const made = harness([[call('slow')]], [slow]);
    const served = await serve(made.duologue, { port: 0, host: '127.0.0.1' });
    const heard = listen(await fetch(`${served.url}/stream`, json(say('go'))));
    await started.opened;
    await served.close();
    await heard.end().catch(() => undefined);
    await expect(fetch(`${served.url}/health`)).rejects.toThrow();
    const again = createServer((_request: IncomingMessage, response) => void response.end());
    await new Promise<void>((resolve) => again.listen(served.port, '127.0.0.1', resolve));
    await new Promise((resolve) => again.close(resolve));
  });

  it('says 503 to whoever comes while it closes', async () => {
    const made = harness([[text('Hi.')]]);
    await made.duologue.close();
    const refused = await made.post(say('hi'));
    expect([refused.status, refused.json]).toMatchObject([
      503,
      { error: { code: 'shutting_down', retryable: true } },
    ]);
    expect((await made.get('/health')).status).toBe(503);
  });

  it('keeps an idle connection for longer than balancers keep theirs, so that they close first', async () => {
    const served = await serve(harness([]).duologue, { port: 0, host: '127.0.0.1', quiet: true });
    onTestFinished(() => served.close());
    expect((await fetch(`${served.url}/health`)).headers.get('keep-alive')).toBe('timeout=75');
  });

  it('says in one line where it listens: on the console, or to the logger that it was given', async () => {
    const console = vi.spyOn(globalThis.console, 'log').mockImplementation(() => undefined);
    onTestFinished(() => console.mockRestore());
    const lines: unknown[] = [];
    const logger = { info: (...line: unknown[]) => void lines.push(line), warn() {}, error() {} };
    const started = async (options: Partial<DuologueOptions>, quiet?: boolean) => {
      const agent = new LlmAgent({ name: 'assistant', model: new ScriptedModel() });
      const duologue = createDuologue({ agent, ...options });
      const served = await serve(duologue, { port: 0, host: '127.0.0.1', ...(quiet ? { quiet } : {}) });
      await served.close();
      return served.url;
    };
    const url = await started({ basePath: '/api/chat' });
    expect(console.mock.calls).toEqual([[`duologue: listening on ${url}/api/chat`]]);
    const other = await started({ logger });
    expect(lines).toEqual([['listening', { url: other }]]);
    await started({}, true);
    await started({ logger }, true);
    expect([console.mock.calls.length, lines.length]).toEqual([1, 1]);
  });

  it('fails with words when the port is taken', async () => {
    const first = await serve(harness([]).duologue, { port: 0, host: '127.0.0.1' });
    onTestFinished(() => first.close());
    const second = serve(harness([]).duologue, { port: first.port, host: '127.0.0.1' });
    await expect(second).rejects.toMatchObject({
      code: 'EADDRINUSE',
      message: `Port ${first.port} is in use by another program: stop that one, or give serve another port.`,
    });
  });

  it.each([
    [{ prot: 3001 }, 'serve has no option "prot". Did you mean "port"?'],
    [{ port: Number.NaN }, 'serve: the option "port" must be a number from 0 to 65535.'],
  ])('refuses the options %j', async (options, why) => {
    await expect(serve(harness([]).duologue, options as ServeOptions)).rejects.toThrow(why);
  });
});

describe('a client that cannot connect', () => {
  /** What a chat over this transport says after its first message. */
  async function says(transport: DuologueTransport<Message>): Promise<string | undefined> {
    onTestFinished(() => transport.close());
    const chat = chatOf(ai, { id: 'chat-1', transport });
    await chat.sendMessage({ text: 'hi' });
    return chat.error?.message;
  }
  const transports = { WebSocket: DuologueTransport<Message>, SSE: DuologueSseTransport<Message> };

  it.each(['WebSocket', 'SSE'] as const)('[E9] gets the cause in words, over %s', async (name) => {
    const guarded = await serve(harness([], [], { apiKey: 'secret-key-of-the-server' }).duologue, {
      port: 0,
      host: '127.0.0.1',
    });
    onTestFinished(() => guarded.close());
    const other = await listenOn(
      createServer((_request, response) => void response.setHeader('content-type', 'text/html').end('<p>Hi')),
    );
    onTestFinished(other.close);
    const of = (url: string) => new transports[name]({ url, WebSocket });
    expect(await says(of(guarded.url))).toContain('The key is missing or wrong');
    expect(await says(of(`${guarded.url}/elsewhere`))).toContain('There is no Duologue server at');
    expect(await says(of(`http://127.0.0.1:${other.port}`))).toContain('There is no Duologue server at');
  });

  it('[E8] learns that the server has no socket adapter, or that a proxy does not pass on the upgrade', async () => {
    const { duologue } = harness([]);
    const fetches = serveHono({ fetch: duologue.fetch, port: 0, hostname: '127.0.0.1' });
    await turns(() => fetches.address() !== null);
    onTestFinished(() => void fetches.close());
    const { port } = fetches.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    expect(await says(new DuologueTransport({ url, WebSocket }))).toContain(
      'no WebSocket to it can be opened',
    );
    const answer = await fetch(`${url}/live`);
    expect([answer.status, answer.headers.get('upgrade'), await answer.json()]).toMatchObject([
      426,
      'websocket',
      { error: { code: 'upgrade_required' } },
    ]);
  });

  it('[E8] gets the error that would refuse its socket', async () => {
    const { get } = harness([], [], { apiKey: 'secret-key-of-the-server' });
    const { get: full } = harness([], [], { socketLimits: { connectionsPerUser: 0 } });
    const { get: open } = harness([]);
    const answers = [await get('/live'), await full('/live'), await open('/live')];
    expect(answers.map(({ status }) => status)).toEqual([401, 429, 426]);
  });
});

describe('the adapters of Bun and Deno', () => {
  const handshake = (path: string) =>
    new Request(`http://localhost${path}`, {
      headers: { upgrade: 'websocket', 'sec-websocket-protocol': 'duologue.v2, duologue.key.c2VjcmV0' },
    });
  /** What each answers to a request, and the sockets that it opened, by the subprotocol that the handshake answers with. */
  function both(duologue: Duologue) {
    const opened: unknown[] = [];
    const bun = duologueBun(duologue);
    const server: BunServer = {
      upgrade: (_request, { headers }) => opened.push(headers) > 0,
      requestIP: () => ({ address: '127.0.0.1' }),
      timeout: () => undefined,
    };
    const upgradeWebSocket = (_request: Request, options: unknown) => {
      opened.push(options);
      return { socket: {}, response: new Response(null, { status: 200 }) };
    };
    vi.stubGlobal('Deno', { upgradeWebSocket });
    onTestFinished(() => void vi.unstubAllGlobals());
    const deno = duologueDeno(duologue);
    return {
      opened,
      ask: async (request: () => Request) => [
        (await bun.fetch(request(), server))?.status,
        (await deno(request(), { remoteAddr: { hostname: '127.0.0.1' } })).status,
      ],
    };
  }

  it('name the subprotocol alone, never the key that the client offers beside it', async () => {
    const { ask, opened } = both(harness([]).duologue);
    expect(await ask(() => handshake('/live'))).toEqual([undefined, 200]);
    expect(opened).toEqual([
      { 'sec-websocket-protocol': 'duologue.v2' },
      { protocol: 'duologue.v2', idleTimeout: 20 },
    ]);
  });

  it('refuse a socket before it opens, and answer other paths with 404', async () => {
    const { ask, opened } = both(harness([], [], { apiKey: 'another-key-of-the-server' }).duologue);
    expect(await ask(() => handshake('/live'))).toEqual([401, 401]);
    expect(await ask(() => handshake('/elsewhere'))).toEqual([404, 404]);
    expect(opened).toEqual([]);
  });

  it('refuse a node of a cluster, whose sockets may belong to another node', () => {
    const { duologue } = harness([]);
    const node = { ...duologue, sockets: { mayHandOn: true } } as unknown as Duologue;
    expect(() => duologueBun(node)).toThrow('duologueBun cannot pass a socket on to another node');
    expect(() => duologueDeno(node)).toThrow('duologueDeno cannot pass a socket on to another node');
  });
});
