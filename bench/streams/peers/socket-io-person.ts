import { io } from 'socket.io-client';
import type { Asked, Person } from '../client.ts';
import { now } from '../clock.ts';
import type { Listener } from '../listener.ts';
import { asUi } from '../wires.ts';

/** A client over socket.io, with the WebSocket transport from the start. */
export async function person({ port, id, question }: Asked, listener: Listener): Promise<Person> {
  const socket = io(`http://127.0.0.1:${port}`, { transports: ['websocket'], forceNew: true });
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return {
    listener,
    ask: () =>
      new Promise((resolve, reject) => {
        socket.on('chunk', (chunk: Record<string, unknown>) => {
          try {
            listener.hear(asUi(chunk));
          } catch (error) {
            reject(error);
          }
          if (chunk.type === 'finish') resolve();
        });
        listener.askedAt = now();
        socket.emit('question', { id, question });
      }),
    leave: () => void socket.disconnect(),
  };
}
