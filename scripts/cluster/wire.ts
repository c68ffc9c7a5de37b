import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy to a server that can lose the server's replies. */
export interface Wire {
  port: number;
  /** Discards the next reply and closes its connection: the server has carried out the request, but the client does not know. */
  loseNextAnswer(): void;
  /** Closes every connection, and refuses new ones until `mend`. */
  cut(): void;
  mend(): void;
  /** The number of discarded replies. */
  readonly lost: number;
  close(): Promise<void>;
}

/** Opens a proxy to a local port; `change` may replace the bytes of a reply. */
export async function openWire(
  target: number,
  change: (bytes: Buffer) => Buffer = (bytes) => bytes,
): Promise<Wire> {
  const open = new Set<Socket>();
  let isLosing = false;
  let isCut = false;
  let lost = 0;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(target, '127.0.0.1');
    for (const one of [client, upstream]) {
      open.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        open.delete(one);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on('data', (bytes) => {
      if (!isLosing) {
        client.write(change(bytes));
        return;
      }
      isLosing = false;
      lost++;
      client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get lost() {
      return lost;
    },
    loseNextAnswer() {
      isLosing = true;
    },
    cut() {
      isCut = true;
      for (const one of open) one.destroy();
    },
    mend() {
      isCut = false;
    },
    async close() {
      for (const one of open) one.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
