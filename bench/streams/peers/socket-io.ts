import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { CALLS_IN_A_STEP, DELTAS, PAYMENT, WEATHER } from '../load.ts';
import { listen, type Start } from '../servers/start.ts';

const byDelta = new Map(DELTAS.map((delta) => [delta, { type: 'text-delta', id: '0', delta }]));

const ids = Array.from({ length: CALLS_IN_A_STEP }, (_, n) => `call-${n}`);

/** A chunk an event over socket.io; no agent. */
export const start: Start = ({ source }) => {
  const server = createServer();
  const io = new Server(server, { transports: ['websocket'], serveClient: false, perMessageDeflate: false });
  io.on('connection', (socket) => {
    const say = (chunk: object): void => void socket.emit('chunk', chunk);
    const call = (toolCallId: string, toolName: string, input: object): void => {
      say({ type: 'tool-input-start', toolCallId, toolName });
      say({ type: 'tool-input-available', toolCallId, toolName, input });
    };
    socket.on('question', async ({ question }: { question: string }) => {
      say({ type: 'start', messageId: 'message' });
      for (let step = 0; ; step++) {
        say({ type: 'text-start', id: '0' });
        for await (const delta of source.step(question, step)) say(byDelta.get(delta) ?? {});
        say({ type: 'text-end', id: '0' });
        if (!source.hasNextStep(question, step)) break;
        for (const id of ids) call(id, 'get_weather', WEATHER.args);
        for (const toolCallId of ids)
          say({ type: 'tool-output-available', toolCallId, output: WEATHER.output });
      }
      call('payment', 'process_payment', PAYMENT);
      say({ type: 'tool-approval-request', toolCallId: 'payment', approvalId: 'approval-1' });
      say({ type: 'finish', finishReason: 'tool-calls' });
    });
  });
  return listen(server);
};
