import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server of this machine over which everything takes its time. */
export interface SlowWay {
  url: string;
  close(): Promise<void>;
}

/** Opens a way to a port: each piece arrives after so many milliseconds, in both directions, and an end does, too. */
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
