import type { RequestHandler } from 'express';
import type { Duologue } from '../duologue.ts';
import { nodeListener } from './node-listener.ts';

/** Middleware for Express; mount it where `basePath` says. What is not the server's goes on to the next handler. */
export function duologueExpress(duologue: Duologue): RequestHandler {
  return (request, response, next) => nodeListener(duologue, () => next())(request, response);
}
