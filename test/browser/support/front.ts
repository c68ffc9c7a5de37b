import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { webApp } from '../../../demo/server/web.ts';

/** A server for another build of the page, which forwards other requests to the demo's server. */
export class Front {
  private readonly files: ReturnType<typeof webApp>;
  private readonly target: URL;
  private readonly streams = new Set<Duplex>();
  private readonly server = createServer((asked, answer) => this.answer(asked, answer));

  constructor(folder: string, target: string) {
    this.files = webApp(folder);
    this.target = new URL(target);
    this.server.on('upgrade', (asked, near, head) => this.upgrade(asked, near, head));
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
    const { pathname } = new URL(asked.url ?? '/', this.target);
    if (pathname === '/' || pathname.startsWith('/assets/')) return this.files(asked, answer);
    const { method, headers, url } = asked;
    const far = request(new URL(url ?? '/', this.target), { method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    far.on('error', () => answer.destroy());
    answer.on('close', () => far.destroy());
    asked.pipe(far);
  }

  private upgrade(asked: IncomingMessage, near: Duplex, head: Buffer): void {
    const far = connect(Number(this.target.port), this.target.hostname);
    for (const stream of [near, far]) {
      this.streams.add(stream);
      stream.on('error', () => undefined);
      stream.on('close', () => {
        this.streams.delete(stream);
        near.destroy();
        far.destroy();
      });
    }
    const lines = asked.rawHeaders.flatMap((name, index, all) =>
      index % 2 === 0 ? [`${name}: ${all[index + 1]}`] : [],
    );
    far.write([`GET ${asked.url} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
    far.write(head);
    near.pipe(far).pipe(near);
  }
}
