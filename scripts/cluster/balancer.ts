import { once } from 'node:events';
import { createServer, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** A listening balancer. */
export interface Balancer {
  url: string;
  close(): Promise<void>;
}

/** The interval of the health checks. A node that does not answer within it gets no requests until it answers again. */
const CHECK_MS = 1000;

/**
 * Sends each request and each WebSocket to the next of these local ports in turn, without sticky sessions. It skips a port without a listener, and
 * a node whose health check fails.
 */
export async function startBalancer(ports: () => readonly number[], port = 0): Promise<Balancer> {
  const open = new Set<Socket>();
  const sick = new Set<number>();
  let turn = 0;

  /** Connects to the next node that accepts a connection; null when none does. */
  async function next(): Promise<Socket | null> {
    const all = ports();
    const well = all.filter((one) => !sick.has(one));
    const choice = well.length > 0 ? well : all;
    for (const _attempt of choice) {
      const chosen = choice[turn++ % choice.length];
      const socket = chosen === undefined ? null : await reach(chosen);
      if (socket) return socket;
    }
    return null;
  }

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const socket = await next();
    if (!socket) {
      response.writeHead(502).end();
      return;
    }
    const { method, url, headers } = request;
    const asked = openRequest({
      createConnection: () => socket,
      method,
      path: url,
      headers: { ...headers, connection: 'close' },
    });
    asked.once('response', (answer) => {
      const { connection: _connection, ...rest } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, rest);
      answer.pipe(response);
      answer.once('close', () => {
        if (!answer.complete) response.destroy();
      });
    });
    asked.on('error', () => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    });
    response.once('close', () => socket.destroy());
    request.pipe(asked);
  }

  async function passUpgrade(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on('error', () => undefined);
    const socket = await next();
    if (!socket) {
      client.destroy();
      return;
    }
    socket.on('error', () => undefined);
    socket.once('close', () => client.destroy());
    client.once('close', () => socket.destroy());
    socket.write(headOf(request));
    socket.write(head);
    client.pipe(socket).pipe(client);
  }

  const server = createServer((request, response) => void pass(request, response));
  server.on('upgrade', (request, client, head) => void passUpgrade(request, client, head));
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const checking = setInterval(() => {
    for (const one of ports()) {
      isWell(one).then((well) => (well ? sick.delete(one) : sick.add(one)));
    }
  }, CHECK_MS);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    async close() {
      clearInterval(checking);
      for (const one of open) one.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A connection to a port of this machine; null when no process listens there. */
function reach(port: number): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const refused = () => resolve(null);
    socket.once('error', refused);
    socket.once('connect', () => {
      socket.off('error', refused);
      resolve(socket);
    });
  });
}

async function isWell(port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(CHECK_MS);
    const { ok } = await fetch(`http://127.0.0.1:${port}/health`, {
      headers: { connection: 'close' },
      signal,
    });
    return ok;
  } catch {
    return false;
  }
}

/** The head of a request, with the received headers unchanged. */
function headOf({ method, url, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}
