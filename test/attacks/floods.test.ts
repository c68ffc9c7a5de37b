import { connect as connectTcp, type Socket as TcpSocket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { turns } from '../server/support/turns.ts';
import { type LiveHarness, live } from '../support/live.ts';
import { text } from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

failOnUnhandled();

/** Errors that would have ended the process. */
function fatalErrors(): unknown[] {
  const errors: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  const note = (error: unknown) => errors.push(error);
  process.on('uncaughtException', note);
  onTestFinished(() => {
    process.off('uncaughtException', note);
    for (const listener of listeners) process.on('uncaughtException', listener);
  });
  return errors;
}

/** The raw TCP connection under a client's socket: what it does not read, stays on the way. */
function rawOf(socket: TestSocket): TcpSocket {
  return (socket.socket as unknown as { _socket: TcpSocket })._socket;
}

/** A masked frame of a client; the mask is zero. */
function frame(opcode: number, payload: Uint8Array): Buffer {
  const mask = Buffer.alloc(4);
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.byteLength]), mask, payload]);
}

const PING = 0x9;
const PONG = 0xa;
const BINARY = 0x2;

/** The server's side of every connection from now on. */
function streamsOf({ served }: LiveHarness): TcpSocket[] {
  const streams: TcpSocket[] = [];
  served.server.on('connection', (stream: TcpSocket) => void streams.push(stream));
  return streams;
}

describe('a connection that is reset', () => {
  const upgrade = (path: string, origin = '') =>
    `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${origin}connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;

  it.each([
    ['to another path', upgrade('/elsewhere')],
    ['to no path at all', upgrade('//')],
    ['that is refused', upgrade('/live', 'origin: https://evil.example\r\n')],
    ['that is accepted', upgrade('/live')],
    ['of a bad version', upgrade('/live').replace('version: 13', 'version: 99')],
  ])('[E4] right after asking for an upgrade %s does not end the process', async (_, request) => {
    const errors = fatalErrors();
    const server = await live([]);
    const streams = streamsOf(server);
    for (let n = 0; n < 60; n++) {
      const client = connectTcp(server.served.port, 'localhost');
      client.on('error', () => undefined);
      await new Promise<void>((resolve) => {
        client.write(request, () => resolve());
      });
      client.resetAndDestroy();
    }
    await turns(() => streams.length === 60 && streams.every((stream) => stream.destroyed));
    expect(errors).toEqual([]);
    expect(streams).toHaveLength(60);
    expect((await fetch(`${server.served.url}/health`)).status).toBe(200);
  });

  it('[E4] a refused upgrade does not stay open for a client that never closes', async () => {
    const server = await live([]);
    const streams = streamsOf(server);
    const client = connectTcp({ port: server.served.port, host: 'localhost', allowHalfOpen: true });
    onTestFinished(() => void client.destroy());
    client.write(upgrade('/elsewhere'));
    client.resume();
    await turns(() => streams.length === 1 && streams.every((stream) => stream.destroyed));
  });
});

describe('a client that floods and never reads', () => {
  const flood = async (bytes: Buffer) => {
    const server = await live([], [], { socketLimits: { maxBufferedBytes: 64 * 1024 } });
    const streams = streamsOf(server);
    const socket = await server.connect();
    await socket.until((all) => all.length > 0);
    const raw = rawOf(socket);
    raw.pause();
    let most = 0;
    let sent = 0;
    while (!streams[0]?.destroyed && sent < 4000) {
      sent++;
      const hasRoom = raw.write(bytes);
      if (!hasRoom || sent % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, streams[0]?.writableLength ?? 0);
      if (server.duologue.sockets.size === 0) break;
    }
    return { open: server.duologue.sockets.size, most, server, socket, raw };
  };
  const many = (one: Buffer) => Buffer.concat(Array.from({ length: 100 }, () => one));

  it.each([
    ['pings', frame(PING, Buffer.alloc(125, 1))],
    ['pongs', frame(PONG, Buffer.alloc(0))],
    ['binary frames that are none', frame(BINARY, Buffer.alloc(1, 9))],
    ['sound before it may speak', frame(BINARY, Buffer.from([1, 0, 0, 0, 0x80, 0x3e, 0, 0, 0, 0]))],
  ])('[B21] is closed, and %s gather nothing for it', async (_, one) => {
    const { open, most, socket, raw } = await flood(many(one));
    expect(open).toBe(0);
    expect(most).toBeLessThan(256 * 1024);
    raw.resume();
    expect([1008, 1006]).toContain(await socket.closed());
  });

  it('[B7a] [B18a] [B20a] a client that is behind gets neither pongs nor refusals, and both again when it has read', async () => {
    const server = await live([[text('Hi.')]], [], { socketLimits: { maxBufferedBytes: 0 } });
    const streams = streamsOf(server);
    const socket = await server.connect();
    await socket.until((all) => all.length > 0);
    const [stream] = streams;
    stream?.cork();
    socket.send('ping');
    const owes = () => stream?.writableLength ?? 0;
    await turns(() => owes() > 0);
    const due = owes();
    socket.socket.ping('x');
    socket.send('ping');
    socket.socket.send('{"type":"dance"}');
    socket.send('audio_control', { action: 'stop' });
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(owes()).toBe(due);
    stream?.uncork();
    await socket.until((all) => all.some(({ kind }) => kind === 'raw'));
    const pong = new Promise((resolve) => socket.socket.once('pong', resolve));
    socket.socket.ping('y');
    expect(String(await pong)).toBe('y');
    socket.socket.send('{"type":"dance"}');
    expect((await socket.chunk('data-error')).data.code).toBe('unknown_frame');
  });
});
