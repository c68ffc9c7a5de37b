import type { MiddlewareHandler } from 'hono';
import { noteAddress } from '../access/client-address.ts';
import type { Duologue } from '../duologue.ts';

/** Middleware for Hono. Requests for other paths continue to the next handler. */
export function duologueHono(duologue: Duologue): MiddlewareHandler {
  return async (context, next) => {
    // Hono on Node passes Node's request here.
    const { incoming } = (context.env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } };
    noteAddress(context.req.raw, incoming?.socket?.remoteAddress);
    const response = await duologue.respond(context.req.raw);
    if (!response) return next();
    return response;
  };
}
