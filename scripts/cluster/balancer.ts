import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A balancer that listens. */
export interface Balancer {
  url: string;
  close(): Promise<void>;
}

/** Sends each connection to the next of these ports of this machine; one that nobody takes goes to the one after it. */
export async function startBalancer(ports: () => readonly number[], port = 0): Promise<Balancer> {
  const open = new Set<Socket>();
  let turn = 0;
  const server = createServer((client) => {
    open.add(client);
    client.on('error', () => undefined);
    client.on('close', () => open.delete(client));
    const attempt = (left: number): void => {
      const all = ports();
      const next = all[turn++ % all.length];
      if (next === undefined || left === 0) {
        client.destroy();
        return;
      }
      const upstream = connect(next, '127.0.0.1');
      let isJoined = false;
      upstream.once('connect', () => {
        isJoined = true;
        client.pipe(upstream).pipe(client);
        client.on('close', () => upstream.destroy());
      });
      upstream.on('error', () => {
        if (!isJoined) attempt(left - 1);
      });
      upstream.on('close', () => {
        if (isJoined) client.destroy();
      });
    };
    attempt(ports().length);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const one of open) one.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
