import { createServer } from 'node:http';
import { adkRuns } from './adk-runs.ts';
import { END, eventBlock, START } from './blocks.ts';
import { beginStream, listen, readPost, type Start } from './start.ts';

/** ADK with a `res.write` of ready bytes for each event: the base of all ratios. */
export const start: Start = (parts) => {
  const run = adkRuns(parts);
  return listen(
    createServer(async (request, response) => {
      const posted = await readPost(request);
      beginStream(response);
      response.write(START);
      await run(posted, (event) => {
        const block = eventBlock(event);
        if (block) response.write(block);
      });
      response.end(END);
    }),
  );
};
