import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy to a local server that delays all data. */
export interface SlowWay {
  url: string;
  close(): Promise<void>;
}

/** Opens a proxy to a port: data and the end of a connection arrive after that many milliseconds, in both directions. */
export async function openSlowWay(target: number, delayMs: number): Promise<SlowWay> {
  const open = new Set<Socket>();
  const carry = (from: Socket, to: Socket) => {
    open.add(from);
    from.on('error', () => undefined);
    from.on('data', (bytes) => setTimeout(() => to.write(bytes), delayMs));
    from.on('close', () => {
      open.delete(from);
      setTimeout(() => to.destroy(), delayMs);
    });
  };
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    carry(client, upstream);
    carry(upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const one of open) one.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
