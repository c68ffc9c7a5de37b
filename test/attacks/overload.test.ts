import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket as TcpSocket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ByteBudget, defaultBudget } from '../../src/server/access/limits.ts';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { turns } from '../server/support/turns.ts';
import { ManualClock } from '../support/clock.ts';
import { type LiveHarness, live } from '../support/live.ts';
import { text } from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

failOnUnhandled();

const KB = 1024;
const MB = 1024 * KB;
const budget = { userBytes: 1 * MB, serverBytes: 1.5 * MB };
const authenticate = (request: Request) => request.headers.get('x-user');

/** Sends the header of a text frame of 900 kB, and so much of it. */
function begin(socket: TestSocket, bytes: number): void {
  const raw = (socket.socket as unknown as { _socket: TcpSocket })._socket;
  const header = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeBigUInt64BE(BigInt(900 * KB), 2);
  raw.write(Buffer.concat([header, Buffer.alloc(bytes, 0x20)]));
}

/** The server's side of every connection from now on. */
function streamsOf({ served }: LiveHarness): TcpSocket[] {
  const streams: TcpSocket[] = [];
  served.server.on('connection', (stream: TcpSocket) => void streams.push(stream));
  return streams;
}

/** Resolves when so many bytes have come over the nth of them. */
const arrived = (streams: TcpSocket[], n: number, bytes: number) =>
  turns(() => (streams[n]?.bytesRead ?? 0) >= bytes);

/** Begins a post of 900 kB, and sends so much of it. */
function beginPost(server: LiveHarness, user: string, bytes: number) {
  const post: ClientRequest = httpRequest(`${server.served.url}/stream`, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'content-length': 900 * KB, 'x-user': user },
  });
  onTestFinished(() => void post.destroy());
  const answered = new Promise<{ status: number; body: string; retryAfter: string | undefined }>(
    (resolve) => {
      post.on('response', (response: IncomingMessage) => {
        let body = '';
        const end = () =>
          resolve({ status: response.statusCode ?? 0, body, retryAfter: response.headers['retry-after'] });
        response.on('data', (piece) => {
          body += piece;
        });
        response.on('end', end);
        response.on('error', end);
      });
    },
  );
  post.on('error', () => undefined);
  post.write(Buffer.alloc(bytes, 0x20));
  return { answered, post };
}

const say = (server: LiveHarness, user: string, texts: string) =>
  fetch(`${server.served.url}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': user },
    body: JSON.stringify({ messages: [{ role: 'user', parts: [{ type: 'text', text: texts }] }] }),
  });

describe('the budget', () => {
  it('[A11a] is a sixteenth of the free heap, 256 MB at most, and 64 MB for a user', () => {
    const { heap_size_limit: limit } = getHeapStatistics();
    const { serverBytes, userBytes } = defaultBudget();
    expect(serverBytes).toBeLessThanOrEqual(Math.min(256 * MB, limit / 16));
    expect(serverBytes).toBeGreaterThan(0);
    expect(userBytes).toBe(Math.min(64 * MB, serverBytes));
    expect(defaultBudget(6 * MB).userBytes).toBe(6 * MB);
  });

  it('[A11] counts what is held for each user and for all, and gives back what is let go', () => {
    const counted = new ByteBudget({ userBytes: 10, serverBytes: 15, arrivalMs: 1 });
    const [ann, ann2, bob] = [counted.open('ann'), counted.open('ann'), counted.open('bob')];
    ann.set(6);
    expect(() => ann2.set(5)).toThrow('too much');
    expect(counted.held).toBe(6);
    bob.set(9);
    expect(() => bob.add(1)).toThrow('too much');
    ann.set(0);
    bob.add(1);
    ann2.set(5);
    expect(counted.held).toBe(15);
    for (const held of [ann, ann2, bob]) held.set(0);
    expect(counted.held).toBe(0);
  });

  it('[A2] [A11] what is larger than the whole budget is too large, now and later', async () => {
    const server = await live([], [], { budget: { userBytes: 100 * KB } });
    const answer = await say(server, 'ann', 'x'.repeat(100 * KB));
    expect(answer.status).toBe(413);
    const socket = await server.connect();
    socket.say('x'.repeat(100 * KB));
    // A client that still sends when it is closed may lose the code on the way.
    expect([1009, 1006]).toContain(await socket.closed());
  });
});

describe('frames and bodies that are never finished', () => {
  it('[A11] count by the bytes that came: the next frame closes with 1013, other users go on, and it ends with the sockets', async () => {
    const server = await live([[text('Hi Bob.')], [text('Hi Ann.')]], [], { budget, authenticate });
    const streams = streamsOf(server);
    const sockets: TestSocket[] = [];
    for (let n = 0; n < 3; n++) {
      const socket = await server.connect('', { headers: { 'x-user': 'ann' } });
      sockets.push(socket);
      begin(socket, 400 * KB);
      if (n < 2) await arrived(streams, n, 400 * KB);
    }
    expect(await sockets[2]?.closed()).toBe(1013);
    const reported = await sockets[2]?.chunk('data-error');
    expect(reported?.data).toMatchObject({ code: 'overloaded', retryable: true });
    expect(server.duologue.sockets.size).toBe(2);
    const { answered } = beginPost(server, 'ann', 400 * KB);
    expect(await answered).toMatchObject({
      status: 503,
      retryAfter: '5',
      body: expect.stringContaining('"overloaded"'),
    });
    expect(await (await say(server, 'bob', 'hi')).text()).toContain('Hi Bob.');
    for (const socket of sockets) socket.socket.terminate();
    await turns(() => server.duologue.sockets.size === 0);
    expect(await (await say(server, 'ann', 'x'.repeat(90_000))).text()).toContain('Hi Ann.');
  });

  it('[A11] the bodies of all users together have a limit, too', async () => {
    const server = await live([[text('Hi.')]], [], { budget, authenticate });
    const streams = streamsOf(server);
    for (const [n, user] of ['ann', 'ann', 'bob'].entries()) {
      beginPost(server, user, 450 * KB);
      await arrived(streams, n, 450 * KB);
    }
    const { answered } = beginPost(server, 'cid', 450 * KB);
    expect((await answered).status).toBe(503);
  });

  it('[A11b] have a deadline', async () => {
    const clock = new ManualClock();
    const server = await live([], [], { clock, authenticate, budget: { ...budget, arrivalMs: 5000 } });
    const streams = streamsOf(server);
    const socket = await server.connect('', { headers: { 'x-user': 'ann' } });
    begin(socket, 100 * KB);
    await arrived(streams, 0, 100 * KB);
    const { answered } = beginPost(server, 'ann', 100 * KB);
    await arrived(streams, 1, 100 * KB);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(5000);
    expect(await answered).toMatchObject({ status: 408, body: expect.stringContaining('"code":"idle"') });
    expect(await socket.closed()).toBe(4002);
  });

  it('[A11b] a frame that ends in time was no unfinished one', async () => {
    const clock = new ManualClock();
    const server = await live([[text('Read.')]], [], { clock, budget: { ...budget, arrivalMs: 5000 } });
    const socket = await server.connect();
    for (let n = 1; n <= 5; n++) {
      socket.send('tool_result', { toolCallId: 'none', result: 'x'.repeat(700 * KB) });
      await socket.chunk('data-error', n);
    }
    clock.advance(10_000);
    socket.say('there?');
    await socket.done();
  });

  it('[A11] messages that wait for the agent count until their turn', async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = async function* () {
      await released;
      yield text('Done.');
    };
    const server = await live([slow, [text('a')], [text('b')]], [], {
      budget: { userBytes: 250_000 },
    });
    const socket = await server.connect();
    socket.say('go', 'm0');
    await socket.chunk('start');
    socket.say('a'.repeat(99_000), 'm1');
    socket.say('b'.repeat(99_000), 'm2');
    socket.say('c'.repeat(99_000), 'm3');
    expect(await socket.closed()).toBe(1013);
    release();
  });
});
