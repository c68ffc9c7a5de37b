import type { MiddlewareHandler } from 'hono';
import { noteAddress } from '../access/client-address.ts';
import type { Duologue } from '../duologue.ts';

/** Middleware for Hono. What is not the server's goes on to the next handler. */
export function duologueHono(duologue: Duologue): MiddlewareHandler {
  return async (context, next) => {
    // Where Hono runs on Node, its adapter brings Node's request.
    const { incoming } = (context.env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } };
    noteAddress(context.req.raw, incoming?.socket?.remoteAddress);
    const response = await duologue.respond(context.req.raw);
    if (!response) return next();
    return response;
  };
}
