import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { adkRuns } from './adk-runs.ts';
import { END, eventBlock, START } from './blocks.ts';
import { listen, type Start } from './start.ts';

/** ADK with a frame of ready bytes for each event. */
export const start: Start = (parts) => {
  const run = adkRuns(parts);
  const server = createServer();
  const sockets = new WebSocketServer({ server, perMessageDeflate: false });
  sockets.on('connection', (socket) => {
    socket.on('message', async (data) => {
      socket.send(START);
      await run(JSON.parse(String(data)), (event) => {
        const block = eventBlock(event);
        if (block) socket.send(block);
      });
      socket.send(END);
    });
  });
  return listen(server);
};
