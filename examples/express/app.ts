import type { BaseAgent } from '@google/adk';
import { createDuologue } from 'duologue/server';
import { duologueExpress } from 'duologue/server/express';
import express, { type Express } from 'express';

/** An Express app of yours, with the agent at /api/chat. */
export function createApp(agent: BaseAgent): { app: Express; close: () => Promise<void> } {
  const duologue = createDuologue({ agent, basePath: '/api/chat' });
  const app = express();
  app.get('/', (_request, response) => {
    response.type('text').send('The shop is open. Talk to it with POST /api/chat/stream.\n');
  });
  app.use('/api/chat', duologueExpress(duologue));
  return { app, close: () => duologue.close() };
}
