import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server that can lose what comes back over it. */
export interface Wire {
  port: number;
  /** From now on answers are swallowed and the next one breaks its connection: what was asked for was done, and nobody knows. */
  loseNextAnswer(): void;
  /** Breaks every connection there is, and takes no other until it is mended. */
  cut(): void;
  mend(): void;
  /** How many answers were lost. */
  readonly lost: number;
  close(): Promise<void>;
}

/** Opens a way to a port of this machine; `change`: what becomes of what comes back. */
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
