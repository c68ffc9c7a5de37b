import { createServer } from 'node:http';
import { adkRuns } from './adk-runs.ts';
import { END, eventBlock, START } from './blocks.ts';
import { beginStream, listen, readPost, type Start } from './start.ts';

/** ADK with one write of the whole answer at the end: the cost of the agent alone. */
export const start: Start = (parts) => {
  const run = adkRuns(parts);
  return listen(
    createServer(async (request, response) => {
      const texts: string[] = [START];
      await run(await readPost(request), (event) => texts.push(eventBlock(event)));
      beginStream(response);
      response.end(texts.join('') + END);
    }),
  );
};
