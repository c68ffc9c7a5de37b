import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, sep } from 'node:path';
import type { BaseAgent } from '@google/adk';
import { createDuologue } from 'duologue/server';
import { attachWebSocket, nodeListener } from 'duologue/server/node';
import Fastify, { type FastifyInstance } from 'fastify';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** A Fastify app of yours, with the agent at /api/chat over SSE and WebSocket, and the files of a page at /. */
export function createApp(agent: BaseAgent, page: string): FastifyInstance {
  const duologue = createDuologue({ agent, basePath: '/api/chat' });
  const app = Fastify({
    serverFactory(handler) {
      const server = createServer(nodeListener(duologue, handler));
      attachWebSocket(server, duologue);
      return server;
    },
  });
  app.addHook('preClose', () => duologue.close());
  // One route for each file: no other path of the disk can be read.
  for (const name of readdirSync(page, { recursive: true, encoding: 'utf8' })) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(join(page, name));
    const path = `/${name.split(sep).join('/')}`;
    app.get(path === '/index.html' ? '/' : path, (_request, reply) => reply.type(type).send(body));
  }
  return app;
}
