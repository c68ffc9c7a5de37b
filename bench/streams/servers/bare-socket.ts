import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { listen, type Start } from './start.ts';
import { talk } from './talk.ts';

/** No agent and no encoding: a frame of ready bytes for each chunk. */
export const start: Start = ({ source }) => {
  const server = createServer();
  const sockets = new WebSocketServer({ server, perMessageDeflate: false });
  sockets.on('connection', (socket) => {
    socket.on('message', async (data) => {
      await talk(source, JSON.parse(String(data)).question, (block) => socket.send(block));
    });
  });
  return listen(server);
};
