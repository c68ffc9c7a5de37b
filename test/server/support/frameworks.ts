import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { serve as serveHono } from '@hono/node-server';
import compression from 'compression';
import express5 from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { compress } from 'hono/compress';
import { duologueExpress } from '../../../src/server/adapters/express.ts';
import { duologueHono } from '../../../src/server/adapters/hono.ts';
import { attachWebSocket, nodeListener, serve } from '../../../src/server/adapters/node.ts';
import { BASE_PATH, type FrameworkApp, frameworkApp } from './framework-app.ts';
import type { Framework } from './framework-contract.ts';

// Under this name it has no types; those of Express 5 fit what is used here.
const express4 = createRequire(import.meta.url)('express4') as typeof express5;

/** Answers what the application has, else 404, as a handler of Node's server. */
const ownListener =
  ({ answer }: FrameworkApp) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const own = answer(request.url ?? '');
    if (own === null) response.writeHead(404);
    response.end(own ?? 'no such page');
  };

async function opened(app: FrameworkApp, server: Server): ReturnType<Framework['open']> {
  if (!server.listening) await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      await app.duologue.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** An Express app with the usual middleware before the adapter, which is mounted in a router. */
function withExpress(express: typeof express5): Framework['open'] {
  return () => {
    const app = frameworkApp();
    const site = express();
    site.use(compression({ threshold: 0 }));
    site.use(express.json());
    site.use(express.urlencoded({ extended: true }));
    const api = express.Router();
    api.use('/chat', duologueExpress(app.duologue));
    site.use('/api', api);
    site.use((request, response, next) => {
      const own = app.answer(request.path);
      if (own === null) next();
      else response.send(own);
    });
    const server = site.listen(0, '127.0.0.1');
    attachWebSocket(server, app.duologue);
    return opened(app, server);
  };
}

/** The frameworks that run in the process of the tests. */
export const frameworks: Framework[] = [
  {
    name: 'serve of Node',
    async open() {
      const app = frameworkApp();
      const served = await serve(app.duologue, { port: 0, host: '127.0.0.1', fallback: ownListener(app) });
      return { url: served.url, close: () => served.close() };
    },
  },
  {
    name: 'a server of node:http that reads the body first',
    open() {
      const app = frameworkApp();
      const listener = nodeListener(app.duologue, ownListener(app));
      const server = createServer(async (request: IncomingMessage & { body?: unknown }, response) => {
        const pieces: Buffer[] = [];
        for await (const piece of request) pieces.push(piece as Buffer);
        if (pieces.length > 0) request.body = JSON.parse(Buffer.concat(pieces).toString());
        compression({ threshold: 0 })(request as never, response as never, () => listener(request, response));
      });
      attachWebSocket(server, app.duologue);
      server.listen(0, '127.0.0.1');
      return opened(app, server);
    },
  },
  { name: 'Express 5', open: withExpress(express5) },
  { name: 'Express 4', open: withExpress(express4) },
  {
    name: 'Hono',
    open() {
      const app = frameworkApp();
      const site = new Hono();
      site.use(compress({ threshold: 0 }));
      site.use(async (context, next) => {
        if (context.req.header('content-type')?.startsWith('application/json')) await context.req.json();
        await next();
      });
      site.use(`${BASE_PATH}/*`, duologueHono(app.duologue));
      site.use((context, next) => {
        const own = app.answer(context.req.path);
        return own === null ? next() : Promise.resolve(context.text(own));
      });
      const server = serveHono({ fetch: site.fetch, port: 0, hostname: '127.0.0.1' }) as Server;
      attachWebSocket(server, app.duologue);
      return opened(app, server);
    },
  },
  {
    name: 'Fastify',
    async open() {
      const app = frameworkApp();
      const site = Fastify({
        serverFactory(handler) {
          const server = createServer(nodeListener(app.duologue, handler));
          attachWebSocket(server, app.duologue);
          return server;
        },
      });
      site.addHook('preHandler', async (request) => request.body);
      site.setNotFoundHandler((request, reply) => {
        const own = app.answer(request.url);
        return own === null ? reply.code(404).send('no such page') : reply.code(200).send(own);
      });
      await site.listen({ port: 0, host: '127.0.0.1' });
      return opened(app, site.server);
    },
  },
];
