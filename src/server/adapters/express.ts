import type { RequestHandler } from 'express';
import type { Duologue } from '../duologue.ts';
import { nodeListener } from './node-listener.ts';

/** Middleware for Express; mount it at `basePath`. Requests for other paths continue to the next handler. */
export function duologueExpress(duologue: Duologue): RequestHandler {
  return (request, response, next) => nodeListener(duologue, () => next())(request, response);
}
