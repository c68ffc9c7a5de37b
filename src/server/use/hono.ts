import type { MiddlewareHandler } from 'hono';
import type { Duologue } from '../duologue.ts';

/** Middleware for Hono. What is not the server's goes on to the next handler. */
export function duologueHono(duologue: Duologue): MiddlewareHandler {
  return async (context, next) => {
    const response = await duologue.respond(context.req.raw);
    if (!response) return next();
    return response;
  };
}
