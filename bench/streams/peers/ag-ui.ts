import { createServer } from 'node:http';
import { EventEncoder } from '@ag-ui/encoder';
import { beginStream, listen, readPost, type Start } from '../servers/start.ts';
import { talk } from './ag-ui-events.ts';

/** AG-UI's encoder and a `res.write` for each event; no agent. */
export const start: Start = ({ source }) => {
  const encoder = new EventEncoder();
  return listen(
    createServer(async (request, response) => {
      const { id, question } = await readPost(request);
      beginStream(response);
      await talk(source, { threadId: id, runId: `run-${id}`, question }, (event) =>
        response.write(encoder.encodeSSE(event as never)),
      );
      response.end();
    }),
  );
};
