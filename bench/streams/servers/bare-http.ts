import { createServer } from 'node:http';
import { beginStream, listen, readPost, type Start } from './start.ts';
import { talk } from './talk.ts';

/** No agent and no encoding: a `res.write` of ready bytes for each chunk. */
export const start: Start = ({ source }) =>
  listen(
    createServer(async (request, response) => {
      const { question } = await readPost(request);
      beginStream(response);
      await talk(source, question, (block) => response.write(block));
      response.end();
    }),
  );
