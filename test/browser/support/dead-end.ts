import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';

/** The reason why a proxy rejects the requests of the page. */
export type Obstacle = 'signed out' | 'wrong mount' | 'no upgrade';

const STATUS: Record<Obstacle, number> = { 'signed out': 401, 'wrong mount': 404, 'no upgrade': 200 };

/** A proxy that forwards the files of a page and rejects its other requests: all of them, or only WebSockets. */
export class DeadEnd {
  private readonly server = createServer((asked, answer) => this.answer(asked, answer));
  private readonly streams = new Set<Duplex>();
  private readonly target: URL;
  private readonly obstacle: Obstacle;
  /** The paths of rejected requests, including WebSockets. */
  readonly refused: string[] = [];

  constructor(target: string, obstacle: Obstacle) {
    this.target = new URL(target);
    this.obstacle = obstacle;
    this.server.on('upgrade', (asked: IncomingMessage, stream: Duplex) => this.upgrade(asked, stream));
  }

  async start(): Promise<this> {
    this.server.listen(0, 'localhost');
    await once(this.server, 'listening');
    return this;
  }

  get url(): string {
    return `http://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  async dispose(): Promise<void> {
    for (const stream of this.streams) stream.destroy();
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private answer(asked: IncomingMessage, answer: ServerResponse): void {
    const { method, headers, url = '/' } = asked;
    const { pathname } = new URL(url, this.target);
    const isFile = pathname === '/' || /\.\w+$/.test(pathname);
    if (!isFile && this.obstacle !== 'no upgrade') {
      this.refused.push(pathname);
      answer.writeHead(STATUS[this.obstacle], { 'content-type': 'text/html' });
      answer.end('<!doctype html><h1>Nothing here</h1>');
      return;
    }
    const far = request(new URL(url, this.target), { method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    far.on('error', () => answer.destroy());
    answer.on('close', () => far.destroy());
    asked.pipe(far);
  }

  /** Behaves as a proxy without support for `Upgrade`: it forwards the request as a plain GET and returns that response. */
  private upgrade(asked: IncomingMessage, stream: Duplex): void {
    this.streams.add(stream);
    stream.on('error', () => undefined);
    stream.on('close', () => this.streams.delete(stream));
    this.refused.push(new URL(asked.url ?? '/', this.target).pathname);
    if (this.obstacle !== 'no upgrade') {
      stream.end(`HTTP/1.1 ${STATUS[this.obstacle]} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
      return;
    }
    const far = connect(Number(this.target.port), this.target.hostname);
    far.on('error', () => stream.destroy());
    far.write(`GET ${asked.url} HTTP/1.1\r\nhost: ${asked.headers.host}\r\nconnection: close\r\n\r\n`);
    far.pipe(stream);
  }
}
