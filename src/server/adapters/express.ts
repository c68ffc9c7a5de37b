import type { RequestHandler } from 'express';
import type { Duologue } from '../duologue.ts';
import { nodeListener } from './node-listener.ts';

/**
 * Middleware for Express. Requests for other paths continue to the next handler.
 *
 * @example
 * app.use(duologueExpress(duologue));
 */
export function duologueExpress(duologue: Duologue): RequestHandler {
  return (request, response, next) => nodeListener(duologue, () => next())(request, response);
}
