import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A connection of this machine to itself, which keeps no process alive. */
async function openEcho(): Promise<Socket> {
  const server = createServer((end) => end.setNoDelay().unref().pipe(end)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay();
  await once(socket, 'connect');
  server.unref();
  return socket.unref();
}

let echo: Promise<Socket> | undefined;

/**
 * Sends a byte over a loopback connection and resolves when it has come back. Data that was sent before over other connections has arrived by then, however
 * busy the machine is. For tests with fake time and a real network: they await this before they advance the time.
 */
export async function roundTrip(): Promise<void> {
  echo ??= openEcho();
  const socket = await echo;
  socket.write('.');
  await once(socket, 'data');
}

/** Lets the pending work of this process and its sockets finish: frames that were sent, their effects, and the replies to them. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await roundTrip();
    for (let turn = 0; turn < 15; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}
