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
 * Resolves when a word has gone round: what was sent over other connections before has arrived by then, however busy the machine is. For
 * tests whose time is fake and whose network is real: no more of the former may pass than the latter can follow.
 */
export async function roundTrip(): Promise<void> {
  echo ??= openEcho();
  const socket = await echo;
  socket.write('.');
  await once(socket, 'data');
}

/** Lets everything happen that is under way in this process and on its sockets: words, what they lead to, and the answers to that. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await roundTrip();
    for (let turn = 0; turn < 15; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}
