import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy to a local server that can hold back requests. */
export interface HeldWay {
  port: number;
  /** From now on, holds back data with this text, and all later data of the same connection. */
  hold(text: string): void;
  /** How many connections are held back. */
  readonly held: number;
  /** Forwards the held data, and holds nothing from now on. */
  release(): void;
  close(): Promise<void>;
}

/** Opens a proxy to a port. It forwards everything at once until `hold`. */
export async function openHeldWay(target: number): Promise<HeldWay> {
  const open = new Set<Socket>();
  const waiting = new Map<Socket, Buffer[]>();
  let text: string | null = null;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const one of [client, upstream]) {
      open.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        open.delete(one);
        waiting.delete(upstream);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes) => {
      const behind = waiting.get(upstream);
      if (behind) behind.push(bytes);
      else if (text !== null && bytes.includes(text)) waiting.set(upstream, [bytes]);
      else upstream.write(bytes);
    });
    upstream.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hold(of) {
      text = of;
    },
    get held() {
      return waiting.size;
    },
    release() {
      text = null;
      for (const [upstream, pieces] of waiting) for (const bytes of pieces) upstream.write(bytes);
      waiting.clear();
    },
    async close() {
      for (const one of open) one.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
