import type { Request as ExpressRequest, RequestHandler } from 'express';
import type { Duologue } from '../duologue.ts';
import { nodeListener } from './node.ts';

/** Middleware for Express; mount it where `basePath` says. What is not the server's goes on to the next handler. */
export function duologueExpress(duologue: Duologue): RequestHandler {
  return (request, response, next) => {
    // Express cuts the mount path off the address; the server knows its own base path.
    const whole = Object.create(request, { url: { value: (request as ExpressRequest).originalUrl } });
    nodeListener(duologue, () => next())(whole, response);
  };
}
