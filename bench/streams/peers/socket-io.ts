import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { DELTAS, PAYMENT, WEATHER } from '../load.ts';
import { listen, type Start } from '../servers/start.ts';

const byDelta = new Map(DELTAS.map((delta) => [delta, { type: 'text-delta', id: '0', delta }]));

/** A chunk an event over socket.io; no agent. */
export const start: Start = ({ source }) => {
  const server = createServer();
  const io = new Server(server, { transports: ['websocket'], serveClient: false, perMessageDeflate: false });
  io.on('connection', (socket) => {
    const say = (chunk: object): void => void socket.emit('chunk', chunk);
    const call = (toolCallId: string, toolName: string, input: object): void => {
      say({ type: 'text-end', id: '0' });
      say({ type: 'tool-input-start', toolCallId, toolName });
      say({ type: 'tool-input-available', toolCallId, toolName, input });
    };
    socket.on('question', async ({ question }: { question: string }) => {
      say({ type: 'start', messageId: 'message' });
      for (let step = 0; ; step++) {
        say({ type: 'text-start', id: '0' });
        for await (const delta of source.step(question, step)) say(byDelta.get(delta) ?? {});
        if (!source.goesOn(question, step)) break;
        call('call-1', 'get_weather', WEATHER.args);
        say({ type: 'tool-output-available', toolCallId: 'call-1', output: WEATHER.output });
      }
      call('call-2', 'process_payment', PAYMENT);
      say({ type: 'tool-approval-request', toolCallId: 'call-2', approvalId: 'approval-1' });
      say({ type: 'finish', finishReason: 'tool-calls' });
    });
  });
  return listen(server);
};
